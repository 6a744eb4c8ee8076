import type { QuantizedMatrix } from "../../weights/quantized-matrix.ts";
import { ExactForm } from "./exact-form.ts";
import { type Declared, type MatrixForm, matrixForm } from "./form.ts";
import type { OutputAxis } from "./outputs.ts";
import {
  groupTensor,
  groupValuesOf,
  newTensor,
  type Parts,
  part,
  SCALE_DTYPES,
  type Tensor,
  type TensorHeader,
  type Written,
  wordsOf,
} from "./tensors.ts";
import { codesFromWords } from "./words.ts";

/**
 * The encoding of vLLM-Omni's `cpu_int4`: `weight_packed` u8 [N, K/2], the even input in the low nibble; `weight_scale`
 * and `weight_zero` [N, G]. w = (code − 8) · scale + zero.
 */
type Key = "weight_packed" | "weight_scale" | "weight_zero";
export type CpuInt4Parts<T extends TensorHeader = Tensor> = Parts<Key, T>;

const ZERO = 8;

export const cpuInt4Axes: Record<Key, OutputAxis> = {
  weight_packed: { axis: 0, outputsPerElement: 1 },
  weight_scale: { axis: 0, outputsPerElement: 1 },
  weight_zero: { axis: 0, outputsPerElement: 1 },
};

/** The shape the tensors have. Throws ERR_MISSING, ERR_SHAPE or ERR_UNSUPPORTED where they do not fit each other. */
export function cpuInt4Form(parts: CpuInt4Parts<TensorHeader>, declared: Declared, place: string): MatrixForm {
  const packed = part(parts, "weight_packed", ["U8"], [undefined, undefined], place);
  const [N, half] = packed.shape as [number, number];
  const scale = part(parts, "weight_scale", SCALE_DTYPES, [N, undefined], place);
  const groups = scale.shape[1]!;
  part(parts, "weight_zero", SCALE_DTYPES, [N, groups], place);
  const K = half * 2;
  return matrixForm({ N, K, bits: 4 }, groups, declared, place);
}

/** Throws as `cpuInt4Form` for tensors that are not of the form. */
export function decodeCpuInt4(parts: CpuInt4Parts, form: MatrixForm, place = "cpu_int4"): QuantizedMatrix {
  const { N, K, groupSize } = form;
  const groups = K / groupSize;
  const packed = part(parts, "weight_packed", ["U8"], [N, K / 2], place);
  // Rows follow each other without a gap: one row of words, where the bytes make whole ones.
  const whole = packed.bytes.length % 4 === 0;
  const codes = whole ? codesFromWords(wordsOf(packed), 1, N * K, 4) : codesFromBytes(packed.bytes);
  return {
    kind: "quantized",
    N,
    K,
    bits: 4,
    groupSize,
    codes,
    scale: groupValuesOf(part(parts, "weight_scale", SCALE_DTYPES, [N, groups], place)),
    zero: ZERO,
    offset: groupValuesOf(part(parts, "weight_zero", SCALE_DTYPES, [N, groups], place)),
  };
}

function codesFromBytes(packed: Uint8Array): Uint8Array {
  return Uint8Array.from({ length: packed.length * 2 }, (_, i) => (packed[i >> 1]! >> (4 * (i & 1))) & 15);
}

/** Exact; throws ERR_UNSUPPORTED, with the reason, for a matrix that is not 4-bit with bf16 scales and offsets. */
export function encodeCpuInt4(matrix: QuantizedMatrix, place = "matrix"): Written<Key> {
  const form = new ExactForm(matrix, "cpu_int4", place);
  form.bits(4);
  form.multiple(matrix.K, 2, "inputs");
  const { N, K, codes } = matrix;
  const packed = new Uint8Array((N * K) / 2);
  for (let i = 0; i < packed.length; i++) packed[i] = codes[2 * i]! | (codes[2 * i + 1]! << 4);
  return {
    weight_packed: newTensor("U8", [N, K / 2], packed),
    weight_scale: groupTensor(form.scales("bf16"), N),
    weight_zero: groupTensor(form.offsets(ZERO, "bf16"), N),
  };
}
