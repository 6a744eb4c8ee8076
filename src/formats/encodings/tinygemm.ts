import { HalfbyteError } from "../../errors.ts";
import type { FloatType, QuantizedMatrix } from "../../weights/quantized-matrix.ts";
import { ExactForm } from "./exact-form.ts";
import { type Declared, type MatrixForm, matrixForm } from "./form.ts";
import {
  type FlatValues,
  groupValuesOf,
  newTensor,
  type Parts,
  part,
  type Tensor,
  type TensorHeader,
  type Written,
} from "./tensors.ts";

/**
 * torch's int4 weights for CPUs (`_convert_weight_to_int4pack_for_cpu`): `weight` u8, shaped [N, K/2] but laid out in
 * blocks of outputs, each [K][outputs/2] bytes; `scales_and_zeros` bf16 [G, N, 2]. w = (code − 8) · scale + zero.
 *
 * The layout is that of the instruction set of the process that packed it, and nothing in the tensor tells which.
 */
type Key = "weight" | "scales_and_zeros";
export type TinygemmParts<T extends TensorHeader = Tensor> = Parts<Key, T>;

export type TinygemmLayout = "avx512" | "avx2" | "default";

const ZERO = 8;
/** Outputs of a full block. */
const BLOCK: Record<TinygemmLayout, number> = { avx512: 64, avx2: 32, default: 32 };
/** torch takes no other number of outputs. */
const UNIT = 16;

/** The shape the tensors have. Throws ERR_MISSING, ERR_SHAPE or ERR_UNSUPPORTED where they do not fit each other. */
export function tinygemmForm(parts: TinygemmParts<TensorHeader>, declared: Declared, place: string): MatrixForm {
  const [N, half] = part(parts, "weight", ["U8"], [undefined, undefined], place).shape as [number, number];
  const groups = part(parts, "scales_and_zeros", ["BF16"], [undefined, N, 2], place).shape[0]!;
  if (N % UNIT !== 0)
    throw new HalfbyteError("ERR_SHAPE", "torch packs no such number of outputs", {
      place: `${place}.weight`,
      expected: `a multiple of ${UNIT}`,
      got: String(N),
    });
  const K = 2 * half;
  return matrixForm({ N, K, bits: 4 }, groups, declared, place);
}

/** Throws as `tinygemmForm` for tensors that are not of the form. */
export function decodeTinygemm(
  parts: TinygemmParts,
  form: MatrixForm,
  layout: TinygemmLayout,
  place = "tinygemm",
): QuantizedMatrix {
  const { N, K, groupSize } = form;
  const groups = K / groupSize;
  const { bytes } = part(parts, "weight", ["U8"], [N, K / 2], place);
  const pairs = groupValuesOf(part(parts, "scales_and_zeros", ["BF16"], [groups, N, 2], place));
  const codes = new Uint8Array(N * K);
  eachByte(N, K, layout, (at, low, high) => {
    codes[low] = bytes[at]! & 15;
    codes[high] = bytes[at]! >> 4;
  });
  const values = (which: 0 | 1): { kind: FloatType & "bf16"; values: Uint16Array } => ({
    kind: "bf16",
    values: Uint16Array.from(
      { length: N * groups },
      (_, i) => pairs.values[(((i % groups) * N + Math.floor(i / groups)) << 1) + which]!,
    ),
  });
  return { kind: "quantized", N, K, bits: 4, groupSize, codes, scale: values(0), zero: ZERO, offset: values(1) };
}

/** Exact; throws ERR_UNSUPPORTED, with the reason, for a matrix that is not 4-bit with bf16 scales and offsets. */
export function encodeTinygemm(matrix: QuantizedMatrix, layout: TinygemmLayout, place = "matrix"): Written<Key> {
  const { N, K, codes } = matrix;
  const form = new ExactForm(matrix, "tinygemm", place);
  form.bits(4);
  form.multiple(N, UNIT, "outputs");
  form.multiple(K, 2, "inputs");
  const bytes = new Uint8Array((N * K) / 2);
  eachByte(N, K, layout, (at, low, high) => {
    bytes[at] = codes[low]! | (codes[high]! << 4);
  });
  const { groups } = form;
  const pairs = new Uint16Array(N * groups * 2);
  const put = ({ values }: FlatValues, which: 0 | 1): void => {
    for (let n = 0; n < N; n++)
      for (let g = 0; g < groups; g++) pairs[2 * (g * N + n) + which] = values[n * groups + g]!;
  };
  put(form.scales("bf16"), 0);
  put(form.offsets(ZERO, "bf16"), 1);
  return { weight: newTensor("U8", [N, K / 2], bytes), scales_and_zeros: newTensor("BF16", [groups, N, 2], pairs) };
}

/** Visits every byte with the places in [N, K] of the codes in its low and high nibble. */
function eachByte(
  N: number,
  K: number,
  layout: TinygemmLayout,
  visit: (at: number, low: number, high: number) => void,
): void {
  for (let first = 0; first < N; first += BLOCK[layout]) {
    const outputs = Math.min(BLOCK[layout], N - first);
    const half = outputs / 2;
    // The last block, where it is not full, has neighbours in a byte, whatever the instruction set.
    const neighbours = layout === "default" || outputs < BLOCK[layout];
    for (let d = 0; d < half; d++) {
      const low = (first + (neighbours ? 2 * d : d)) * K;
      const high = low + (neighbours ? K : half * K);
      for (let k = 0; k < K; k++) visit((first * K) / 2 + k * half + d, low + k, high + k);
    }
  }
}
