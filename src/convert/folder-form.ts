import { HalfbyteError } from "../errors.ts";
import { AWQ_SCALES } from "../formats/encodings/awq.ts";
import { COMPRESSED_SCALES, isMiddle } from "../formats/encodings/compressed-tensors.ts";
import { ExactForm } from "../formats/encodings/exact-form.ts";
import { GPTQ_SCALES } from "../formats/encodings/gptq.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import type { FloatType, QuantizedMatrix } from "../weights/quantized-matrix.ts";
import { eachChunk } from "./chunks.ts";

/** The encodings of quantised matrices that a Hugging Face folder can be written in. */
export type FolderEncoding = "cpu_int4" | "gptq" | "gptq_v2" | "awq" | "compressed-tensors";

export const FOLDER_ENCODINGS: readonly FolderEncoding[] = ["cpu_int4", "gptq", "gptq_v2", "awq", "compressed-tensors"];

/** How one matrix stands in an encoding: what must be known before its first byte is written. */
export interface FolderForm {
  readonly encoding: FolderEncoding;
  readonly N: number;
  readonly K: number;
  readonly bits: 4 | 8;
  /** K for one group per output. */
  readonly groupSize: number;
  readonly scale: FloatType;
  /** All zero points are half the range; compressed-tensors then keeps none. */
  readonly symmetric: boolean;
  readonly inputOrder?: Int32Array;
}

/** What an encoding asks of a matrix, but for cpu_int4's offsets. */
interface Rules {
  readonly name: string;
  readonly bits: readonly (4 | 8)[];
  readonly scales: readonly FloatType[];
  readonly inputOrder: boolean;
}

const gptq: Rules = { name: "GPTQ", bits: [4, 8], scales: GPTQ_SCALES, inputOrder: true };
const RULES: Record<FolderEncoding, Rules> = {
  cpu_int4: { name: "cpu_int4", bits: [4], scales: ["bf16"], inputOrder: false },
  gptq,
  gptq_v2: gptq,
  awq: { name: "AWQ", bits: [4], scales: AWQ_SCALES, inputOrder: false },
  "compressed-tensors": { name: "compressed-tensors", bits: [4, 8], scales: COMPRESSED_SCALES, inputOrder: true },
};

/** What cpu_int4 subtracts from codes before it adds its offset. */
const CPU_INT4_ZERO = 8;

/**
 * The form of a matrix in an encoding, found by looking at all of its rows once. Throws ERR_UNSUPPORTED, with the matrix
 * as the place and the reason, where the encoding cannot hold every weight exactly.
 */
export async function folderForm(
  source: MatrixSource,
  encoding: FolderEncoding,
  signal?: AbortSignal,
): Promise<FolderForm> {
  const { name, N, like, inputOrder } = source;
  const rules = RULES[encoding];
  if (like.kind === "float") throw new HalfbyteError("ERR_ARGUMENT", "floats must be quantised first", { place: name });
  const whole = new ExactForm(like, rules.name, name);
  if (inputOrder && !rules.inputOrder) throw whole.refusal("its inputs stand in an order of their own");
  const bits = whole.bits(...rules.bits);
  checkSizes(whole, encoding, bits, N);
  let types: readonly FloatType[] = rules.scales;
  let symmetric = true;
  await eachChunk(source, signal, (rows, first) => {
    const form = new ExactForm(rows as QuantizedMatrix, rules.name, name, first);
    const fit = form.scaleTypes(...types);
    if (encoding === "cpu_int4") form.offsets(CPU_INT4_ZERO, "bf16");
    else {
      const zeros = form.zeros(bits);
      symmetric &&= isMiddle(zeros, bits);
      if (encoding === "gptq") refuseZeroOfZero(form, zeros);
    }
    types = fit;
  });
  return declaredForm(source, encoding, { bits, scale: types[0]!, symmetric });
}

/**
 * The form of a matrix whose maker vouches that the encoding holds it: codes of `bits`, scales of that type, and zero points
 * or offsets as the encoding has them. Nothing is read.
 */
export function declaredForm(
  source: Pick<MatrixSource, "N" | "K" | "like" | "inputOrder">,
  encoding: FolderEncoding,
  { bits, scale, symmetric }: Pick<FolderForm, "bits" | "scale" | "symmetric">,
): FolderForm {
  const { N, K, like, inputOrder } = source;
  const groupSize = like.kind === "quantized" ? Math.min(like.groupSize, K) : K;
  return { encoding, N, K, bits, groupSize, scale, symmetric, ...(inputOrder && { inputOrder }) };
}

/** A matrix whose maker vouches for what it will be written as. */
export interface VouchedSource extends MatrixSource {
  readonly vouched: Pick<FolderForm, "bits" | "scale" | "symmetric"> & {
    /** In GGUF. */
    readonly blocks?: string;
  };
}

export function vouchedForm(source: MatrixSource): VouchedSource["vouched"] | undefined {
  return "vouched" in source ? (source as VouchedSource).vouched : undefined;
}

function checkSizes(form: ExactForm, encoding: FolderEncoding, bits: 4 | 8, N: number): void {
  const { K } = form.matrix;
  if (encoding === "cpu_int4") form.multiple(K, 2, "inputs");
  if (encoding === "awq") form.multiple(N, 8, "outputs");
  if (encoding === "gptq" || encoding === "gptq_v2") {
    form.multiple(K, 32 / bits, "inputs");
    form.multiple(N, 32 / bits, "outputs");
  }
}

/** Whether an encoding takes matrices of that shape. */
export function sizesFit({ N, K }: { N: number; K: number }, encoding: FolderEncoding, bits: 4 | 8): boolean {
  const perWord = 32 / bits;
  if (encoding === "gptq" || encoding === "gptq_v2") return K % perWord === 0 && N % perWord === 0;
  return encoding === "cpu_int4" ? K % 2 === 0 : encoding !== "awq" || N % 8 === 0;
}

/** Version 1 stores zeros less one, and readers differ on what the −1 of a zero of 0 does to its neighbours in a word. */
function refuseZeroOfZero(form: ExactForm, zeros: number | Uint8Array): void {
  if (typeof zeros === "number" ? zeros !== 0 : !zeros.includes(0)) return;
  throw form.refusal("a zero point of 0 reads differently from program to program in version 1; gptq_v2 holds it");
}
