import { HalfbyteError } from "../../errors.ts";
import type { FloatType, QuantizedMatrix } from "../../weights/quantized-matrix.ts";
import { ExactForm } from "./exact-form.ts";
import { checkBits, type Declared, type MatrixForm, matrixForm, type OrderedMatrix } from "./form.ts";
import { checkOrder, groupOfInput, inputOrder, putColumns, readGroupOfInput, takeColumns } from "./input-order.ts";
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
  transposed,
  type Written,
  wordsOf,
} from "./tensors.ts";
import { codesFromWords, wordsFromCodes } from "./words.ts";

/**
 * compressed-tensors, "pack-quantized": `weight_packed` i32 [N, ceil(K·bits/32)], codes of consecutive inputs from the
 * lowest bits up; `weight_scale` [N, G]; `weight_shape` i64 [2] = N, K; `weight_zero_point` packed along the outputs, i32
 * [ceil(N·bits/32), G], or i8 [N, G] as older versions wrote it, absent where all are 0; `weight_g_idx` i32 [K], the
 * group of each input. Codes and zero points are signed numbers plus 2^(bits−1).
 */
type PackedKey = "weight_packed" | "weight_scale" | "weight_shape" | "weight_zero_point" | "weight_g_idx";
export type CompressedParts<T extends TensorHeader = Tensor> = Parts<PackedKey, T>;

const PLAIN: OutputAxis = { axis: 0, outputsPerElement: 1 };

export function compressedAxes(
  parts: CompressedParts<TensorHeader>,
  bits: 4 | 8,
): Record<PackedKey, OutputAxis | undefined> {
  return {
    weight_packed: PLAIN,
    weight_scale: PLAIN,
    weight_zero_point: parts.weight_zero_point?.dtype === "I8" ? PLAIN : { axis: 0, outputsPerElement: 32 / bits },
    weight_shape: undefined,
    weight_g_idx: undefined,
  };
}

/** [N, K] out of `weight_shape`. Throws ERR_FORMAT where these are no sizes. */
export function readWeightShape(tensor: Tensor, place: string): [N: number, K: number] {
  const { shape, bytes } = part({ weight_shape: tensor }, "weight_shape", ["I64", "I32"], [2], place);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const sizes = [0, 1].map((i) =>
    tensor.dtype === "I64" ? Number(view.getBigInt64(8 * i, true)) : view.getInt32(4 * i, true),
  );
  if (shape[0] === 2 && sizes.every((size) => Number.isSafeInteger(size) && size > 0)) return sizes as [number, number];
  throw new HalfbyteError("ERR_FORMAT", "not a shape", { place: `${place}.weight_shape`, got: `[${sizes}]` });
}

/**
 * The form of tensors that stand for a matrix of `shape`. The width of codes is that which fits it; where both would, in
 * rows of under five codes, it is as declared. Throws ERR_MISSING, ERR_SHAPE or ERR_UNSUPPORTED where tensors do not fit.
 */
export function compressedForm(
  parts: CompressedParts<TensorHeader>,
  shape: readonly [N: number, K: number],
  declared: Declared,
  place: string,
): MatrixForm {
  const [N, K] = shape;
  const packed = part(parts, "weight_packed", ["I32"], [N, undefined], place);
  const width = packed.shape[1]!;
  const fitting = [declared.bits ?? 4, 4, 8].find((bits) => width === Math.ceil(K / Math.floor(32 / bits)));
  if (fitting === undefined)
    throw new HalfbyteError("ERR_SHAPE", `${K} codes of 4 or 8 bits do not fit the words of a row`, {
      place: `${place}.weight_packed`,
      expected: `[${N},${Math.ceil(K / 8)}] or [${N},${Math.ceil(K / 4)}]`,
      got: `[${packed.shape}]`,
    });
  const bits = checkBits(fitting, `${place}.weight_packed`);
  const groups = part(parts, "weight_scale", SCALE_DTYPES, [N, undefined], place).shape[1]!;
  zeroPoint(parts, { N, bits }, groups, place);
  if (parts.weight_g_idx) part(parts, "weight_g_idx", ["I32"], [K], place);
  return matrixForm({ N, K, bits }, groups, declared, place);
}

function zeroPoint<T extends TensorHeader>(
  parts: CompressedParts<T>,
  { N, bits }: Pick<MatrixForm, "N" | "bits">,
  groups: number,
  place: string,
): T | undefined {
  const tensor = parts.weight_zero_point;
  if (!tensor) return undefined;
  const rows = tensor.dtype === "I8" ? N : Math.ceil((N * bits) / 32);
  return part(parts, "weight_zero_point", ["I32", "I8"], [rows, groups], place);
}

/** Throws as `compressedForm` for tensors that are not of the form, and as `inputOrder` for an unusable index. */
export function decodeCompressed(
  parts: CompressedParts,
  form: MatrixForm,
  place = "compressed-tensors",
): OrderedMatrix {
  const { N, K, bits, groupSize } = form;
  const groups = K / groupSize;
  const packed = part(parts, "weight_packed", ["I32"], [N, Math.ceil((K * bits) / 32)], place);
  const index = parts.weight_g_idx && part(parts, "weight_g_idx", ["I32"], [K], place);
  const order = index && inputOrder(readGroupOfInput(index), groupSize, `${place}.weight_g_idx`);
  const codes = codesFromWords(wordsOf(packed), N, K, bits);
  const zero = zeroPoint(parts, form, groups, place);
  const matrix: QuantizedMatrix = {
    kind: "quantized",
    N,
    K,
    bits,
    groupSize,
    codes: order ? takeColumns(codes, N, order) : codes,
    scale: groupValuesOf(part(parts, "weight_scale", SCALE_DTYPES, [N, groups], place)),
    zero: zero ? unsignedZeros(zero, N, groups, bits) : 2 ** (bits - 1),
  };
  return order ? { matrix, inputOrder: order } : { matrix };
}

function unsignedZeros(tensor: Tensor, N: number, groups: number, bits: 4 | 8): Uint8Array {
  if (tensor.dtype === "I8") return tensor.bytes.map((zero) => zero + 2 ** (bits - 1));
  const words = wordsOf(tensor);
  return transposed(codesFromWords(transposedWords(words, groups), groups, N, bits), groups, N);
}

/** [words, groups] to [groups, words]. */
function transposedWords(words: Uint32Array, groups: number): Uint32Array {
  const rows = words.length / groups;
  return Uint32Array.from(words, (_, i) => words[(i % rows) * groups + Math.floor(i / rows)]!);
}

type PackedTensors = Written<PackedKey, "weight_zero_point" | "weight_g_idx">;

/** Types of scales, likeliest first. */
export const COMPRESSED_SCALES: readonly FloatType[] = ["bf16", "f16", "f32"];

/** What is chosen for a whole matrix where it is written in parts. */
export interface CompressedChoice {
  readonly scales?: readonly FloatType[];
  /** Absent: where some are not 0. */
  readonly zeroPoints?: boolean;
}

/** Exact; throws ERR_UNSUPPORTED, with the reason, for a matrix it cannot hold, and ERR_ARGUMENT for no order. */
export function encodeCompressed(
  ordered: OrderedMatrix,
  place = "matrix",
  { scales = COMPRESSED_SCALES, zeroPoints }: CompressedChoice = {},
): PackedTensors {
  const { matrix, inputOrder: order } = ordered;
  const { N, K } = matrix;
  const form = new ExactForm(matrix, "compressed-tensors", place);
  const bits = form.bits(4, 8);
  if (order) checkOrder(order, K, place);
  const zeros = form.zeros(bits);
  const codes = order ? putColumns(form.codes(bits), N, order) : form.codes(bits);
  return {
    weight_packed: newTensor("I32", [N, Math.ceil((K * bits) / 32)], wordsFromCodes(codes, N, K, bits)),
    weight_scale: groupTensor(form.scales(...scales), N),
    weight_shape: newTensor("I64", [2], BigInt64Array.of(BigInt(N), BigInt(K))),
    ...((zeroPoints ?? !isMiddle(zeros, bits)) && { weight_zero_point: packedZeros(zeros, N, form.groups, bits) }),
    ...(order && { weight_g_idx: newTensor("I32", [K], groupOfInput(K, matrix.groupSize, order)) }),
  };
}

/** All zero points are 0 as signed numbers. */
export function isMiddle(zeros: number | Uint8Array, bits: 4 | 8): boolean {
  const middle = 2 ** (bits - 1);
  return typeof zeros === "number" ? zeros === middle : zeros.every((zero) => zero === middle);
}

function packedZeros(zeros: number | Uint8Array, N: number, groups: number, bits: 4 | 8): Tensor {
  const all = typeof zeros === "number" ? new Uint8Array(N * groups).fill(zeros) : transposed(zeros, N, groups);
  const words = wordsFromCodes(all, groups, N, bits);
  const rows = words.length / groups;
  return newTensor("I32", [rows, groups], transposedWords(words, rows));
}

/**
 * compressed-tensors, "int-quantized": `weight` i8 [N, K], `weight_scale` [N, G], `weight_zero_point` i8 [N, G], absent
 * where all are 0. w = scale · (weight − zero point), codes here are weight + 128.
 */
type IntKey = "weight" | "weight_scale" | "weight_zero_point";
export type IntQuantizedParts<T extends TensorHeader = Tensor> = Parts<IntKey, T>;

export const intQuantizedAxes: Record<IntKey, OutputAxis> = {
  weight: PLAIN,
  weight_scale: PLAIN,
  weight_zero_point: PLAIN,
};

const INT_ZERO = 128;

/** The shape the tensors have. Throws ERR_MISSING, ERR_SHAPE or ERR_UNSUPPORTED where they do not fit each other. */
export function intQuantizedForm(
  parts: IntQuantizedParts<TensorHeader>,
  declared: Declared,
  place: string,
): MatrixForm {
  const [N, K] = part(parts, "weight", ["I8"], [undefined, undefined], place).shape as [number, number];
  const groups = part(parts, "weight_scale", SCALE_DTYPES, [N, undefined], place).shape[1]!;
  if (parts.weight_zero_point) part(parts, "weight_zero_point", ["I8"], [N, groups], place);
  return matrixForm({ N, K, bits: 8 }, groups, declared, place);
}

/** Throws as `intQuantizedForm` for tensors that are not of the form. */
export function decodeIntQuantized(
  parts: IntQuantizedParts,
  form: MatrixForm,
  place = "int-quantized",
): QuantizedMatrix {
  const { N, K, groupSize } = form;
  const groups = K / groupSize;
  const zero = parts.weight_zero_point && part(parts, "weight_zero_point", ["I8"], [N, groups], place);
  return {
    kind: "quantized",
    N,
    K,
    bits: 8,
    groupSize,
    codes: flipSigns(part(parts, "weight", ["I8"], [N, K], place).bytes),
    scale: groupValuesOf(part(parts, "weight_scale", SCALE_DTYPES, [N, groups], place)),
    zero: zero ? flipSigns(zero.bytes) : INT_ZERO,
  };
}

type IntTensors = Written<IntKey, "weight_zero_point">;

/** Exact; throws ERR_UNSUPPORTED, with the reason, for a matrix it cannot hold. */
export function encodeIntQuantized(matrix: QuantizedMatrix, place = "matrix"): IntTensors {
  const { N, K } = matrix;
  const form = new ExactForm(matrix, "int-quantized", place);
  form.bits(8);
  const zeros = form.zeros(8);
  const scale = groupTensor(form.scales("bf16", "f16", "f32"), N);
  const tensors = { weight: newTensor("I8", [N, K], flipSigns(form.codes(8))), weight_scale: scale };
  if (isMiddle(zeros, 8)) return tensors;
  const all = typeof zeros === "number" ? new Uint8Array(N * form.groups).fill(zeros) : zeros;
  return { ...tensors, weight_zero_point: newTensor("I8", [N, form.groups], flipSigns(all)) };
}

/** Signed bytes to unsigned ones 128 above, or back. */
function flipSigns(bytes: Uint8Array): Uint8Array {
  return bytes.map((byte) => byte ^ 0x80);
}
