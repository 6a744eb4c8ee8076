import { HalfbyteError } from "../../errors.ts";
import type { FloatType, QuantizedMatrix } from "../../weights/quantized-matrix.ts";
import { ExactForm } from "./exact-form.ts";
import { checkBits, type Declared, type MatrixForm, matrixForm, type OrderedMatrix } from "./form.ts";
import { checkOrder, groupOfInput, inputOrder, putColumns, readGroupOfInput, takeColumns } from "./input-order.ts";
import type { OutputAxis } from "./outputs.ts";
import {
  newTensor,
  type Parts,
  part,
  SCALE_DTYPES,
  type Tensor,
  type TensorHeader,
  transposed,
  transposedGroupTensor,
  transposedGroupValues,
  type Written,
  wordsOf,
} from "./tensors.ts";
import { codesFromWords, gatherNibbles, spreadNibbles, wordsFromCodes } from "./words.ts";

/**
 * GPTQ: `qweight` i32 [K·bits/32, N], codes of consecutive inputs from the lowest bits up; `scales` [G, N]; `qzeros` i32
 * [G, N·bits/32]; `g_idx` i32 [K], the group of each input. w = scale · (code − zero). The first version of the format
 * stores zeros less one, subtracted from the whole word: a zero of 0 borrows from its neighbour.
 */
type Key = "qweight" | "qzeros" | "scales" | "g_idx";
export type GptqParts<T extends TensorHeader = Tensor> = Parts<Key, T>;

export type GptqVersion = "v1" | "v2";

export interface GptqForm extends MatrixForm {
  readonly version: GptqVersion;
  /** One zero point for all where it is known, so that none are kept. */
  readonly zero?: number;
}

/** Types of scales, likeliest first. */
export const GPTQ_SCALES: readonly FloatType[] = ["f16", "bf16"];

/** One in each code of a word. */
const ONES = { 4: 0x11111111, 8: 0x01010101 } as const;
/** Rows of words that are decoded together, so that reads and writes stay within cached lines and pages. */
const TILE = 32;

export function gptqAxes(bits: 4 | 8): Record<Key, OutputAxis | undefined> {
  return {
    qweight: { axis: 1, outputsPerElement: 1 },
    qzeros: { axis: 1, outputsPerElement: 32 / bits },
    scales: { axis: 1, outputsPerElement: 1 },
    g_idx: undefined,
  };
}

/**
 * The shape the tensors have. The width of codes follows from `qzeros`, or from `g_idx`, or is as declared. Throws
 * ERR_MISSING, ERR_SHAPE or ERR_UNSUPPORTED where they do not fit each other.
 */
export function gptqForm(parts: GptqParts<TensorHeader>, declared: Declared, place: string): MatrixForm {
  const scales = part(parts, "scales", SCALE_DTYPES, [undefined, undefined], place);
  const [groups, N] = scales.shape as [number, number];
  const qweight = part(parts, "qweight", ["I32"], [undefined, undefined], place);
  const rows = qweight.shape[0]!;
  if (qweight.shape[1] !== N)
    throw new HalfbyteError("ERR_SHAPE", "the tensors of a matrix do not fit each other", {
      place: `${place}.qweight`,
      expected: `[any,${N}], as scales have it`,
      got: `[${qweight.shape}]`,
      ...(qweight.shape[1]! * 8 === N && { remedy: "these are tensors of AWQ" }),
    });
  const bits = checkBits(bitsOf(parts, rows, N, declared), `${place}.qweight`);
  const K = (rows * 32) / bits;
  if (parts.g_idx) part(parts, "g_idx", ["I32"], [K], place);
  if (parts.qzeros) part(parts, "qzeros", ["I32"], [groups, Math.ceil((N * bits) / 32)], place);
  else if (!declared.symmetric) part(parts, "qzeros", ["I32"], [groups, undefined], place);
  return matrixForm({ N, K, bits }, groups, declared, place);
}

function bitsOf({ qzeros, g_idx }: GptqParts<TensorHeader>, rows: number, N: number, declared: Declared): number {
  const fromZeros = qzeros && (qzeros.shape[1]! * 32) / N;
  if (fromZeros !== undefined && Number.isInteger(fromZeros)) return fromZeros;
  const fromIndex = g_idx && (rows * 32) / g_idx.shape[0]!;
  return fromIndex ?? declared.bits ?? 4;
}

/** Zero points [G, N] as words hold them. */
function gptqZeros(qzeros: Tensor, { N, bits, version }: Pick<GptqForm, "N" | "bits" | "version">): Uint8Array {
  let words = wordsOf(qzeros);
  if (version === "v1") words = words.map((word) => word + ONES[bits]);
  return codesFromWords(words, qzeros.shape[0]!, N, bits);
}

/** Throws as `gptqForm` for tensors that are not of the form, and as `inputOrder` for an unusable `g_idx`. */
export function decodeGptq(parts: GptqParts, form: GptqForm, place = "gptq"): OrderedMatrix {
  const { N, K, bits, groupSize } = form;
  const groups = K / groupSize;
  const qweight = part(parts, "qweight", ["I32"], [(K * bits) / 32, N], place);
  const scales = part(parts, "scales", SCALE_DTYPES, [groups, N], place);
  const index = parts.g_idx && part(parts, "g_idx", ["I32"], [K], place);
  const order = index && inputOrder(readGroupOfInput(index), groupSize, `${place}.g_idx`);
  const codes = decodeCodes(wordsOf(qweight), N, K, bits);
  const matrix: QuantizedMatrix = {
    kind: "quantized",
    N,
    K,
    bits,
    groupSize,
    codes: order ? takeColumns(codes, N, order) : codes,
    scale: transposedGroupValues(scales),
    zero: form.zero ?? zeros(parts, form, place),
  };
  return order ? { matrix, inputOrder: order } : { matrix };
}

function zeros(parts: GptqParts, form: GptqForm, place: string): Uint8Array {
  const groups = form.K / form.groupSize;
  const qzeros = part(parts, "qzeros", ["I32"], [groups, Math.ceil((form.N * form.bits) / 32)], place);
  return transposed(gptqZeros(qzeros, form), groups, form.N);
}

/** [K·bits/32, N] words to [N, K] codes. */
function decodeCodes(words: Uint32Array, N: number, K: number, bits: 4 | 8): Uint8Array {
  const codes = new Uint8Array(N * K);
  const out = new Uint32Array(codes.buffer);
  const rows = (K * bits) / 32;
  for (let tile = 0; tile < rows; tile += TILE) {
    const end = Math.min(rows, tile + TILE);
    for (let n = 0; n < N; n++) {
      let at = (n * rows + tile) * (8 / bits);
      for (let r = tile, from = tile * N + n; r < end; r++, from += N) {
        const word = words[from]!;
        if (bits === 8) out[at++] = word;
        else {
          out[at++] = spreadNibbles(word);
          out[at++] = spreadNibbles(word >>> 16);
        }
      }
    }
  }
  return codes;
}

/** Exact; throws ERR_UNSUPPORTED, with the reason, for a matrix that GPTQ cannot hold, and ERR_ARGUMENT for no order. */
export function encodeGptq(
  ordered: OrderedMatrix,
  version: GptqVersion = "v1",
  place = "matrix",
  scales: readonly FloatType[] = GPTQ_SCALES,
): Written<Key> {
  const { matrix, inputOrder: order } = ordered;
  const { N, K, groupSize } = matrix;
  const form = new ExactForm(matrix, "GPTQ", place);
  const bits = form.bits(4, 8);
  form.multiple(K, 32 / bits, "inputs");
  form.multiple(N, 32 / bits, "outputs");
  if (order) checkOrder(order, K, place);
  const zero = form.zeros(bits);
  const perGroup = typeof zero === "number" ? new Uint8Array(N * form.groups).fill(zero) : zero;
  let words = wordsFromCodes(transposed(perGroup, N, form.groups), form.groups, N, bits);
  if (version === "v1") words = words.map((word) => word - ONES[bits]);
  return {
    qweight: newTensor(
      "I32",
      [(K * bits) / 32, N],
      encodeCodes(order ? putColumns(form.codes(bits), N, order) : form.codes(bits), N, K, bits),
    ),
    qzeros: newTensor("I32", [form.groups, (N * bits) / 32], words),
    scales: transposedGroupTensor(form.scales(...scales), N),
    g_idx: newTensor("I32", [K], groupOfInput(K, groupSize, order)),
  };
}

function encodeCodes(codes: Uint8Array, N: number, K: number, bits: 4 | 8): Uint32Array {
  const rows = (K * bits) / 32;
  const words = new Uint32Array(rows * N);
  const from = new Uint32Array(codes.buffer.slice(codes.byteOffset, codes.byteOffset + codes.byteLength));
  for (let n = 0; n < N; n++) {
    for (let r = 0; r < rows; r++) {
      const at = n * rows + r;
      words[r * N + n] =
        bits === 8 ? from[at]! : gatherNibbles(from[2 * at]!) | (gatherNibbles(from[2 * at + 1]!) << 16);
    }
  }
  return words;
}
