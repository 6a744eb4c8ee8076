import { HalfbyteError } from "../../errors.ts";
import type { FloatType, GroupValues } from "../../weights/quantized-matrix.ts";
import type { SafetensorsDtype } from "../safetensors/open-safetensors.ts";
import { shown } from "../shown.ts";

/** What is known of a tensor before its bytes are read. */
export interface TensorHeader {
  readonly dtype: SafetensorsDtype;
  readonly shape: readonly number[];
}

/** A tensor in memory: little-endian, last dimension fastest. */
export interface Tensor extends TensorHeader {
  readonly bytes: Uint8Array;
}

/** The tensors of one matrix by the ends of their names; which of them are needed, its encoding says. */
export type Parts<Key extends string, T extends TensorHeader = Tensor> = { readonly [key in Key]?: T | undefined };

/** All tensors of a matrix that was written; `Absent` are those that some matrices do without. */
export type Written<Key extends string, Absent extends Key = never> = {
  readonly [key in Exclude<Key, Absent>]: Tensor;
} & { readonly [key in Absent]?: Tensor };

/** Numbers in memory with the type of their elements. */
type Numbers = Uint8Array | Uint16Array | Int32Array | Uint32Array | Float32Array | BigInt64Array;

const DTYPE_BYTES: Partial<Record<SafetensorsDtype, number>> = {
  U8: 1,
  I8: 1,
  F16: 2,
  BF16: 2,
  F32: 4,
  I32: 4,
  I64: 8,
};
const FLOAT_TYPES: Partial<Record<SafetensorsDtype, FloatType>> = { F16: "f16", BF16: "bf16", F32: "f32" };
export const FLOAT_DTYPES: Record<FloatType, SafetensorsDtype> = { f16: "F16", bf16: "BF16", f32: "F32" };

/** Bytes of one element; the types that encodings use. */
export function elementBytes({ dtype }: TensorHeader): number {
  return DTYPE_BYTES[dtype]!;
}

export function newTensor(dtype: SafetensorsDtype, shape: readonly number[], values: Numbers): Tensor {
  return { dtype, shape, bytes: new Uint8Array(values.buffer, values.byteOffset, values.byteLength) };
}

/**
 * The part called `key`, held to one of `dtypes` and to a shape, where undefined stands for any size. Throws ERR_MISSING
 * where it is absent, ERR_UNSUPPORTED for another type, ERR_SHAPE for another shape.
 */
export function part<Key extends string, T extends TensorHeader>(
  parts: Parts<Key, T>,
  key: Key,
  dtypes: readonly SafetensorsDtype[],
  shape: readonly (number | undefined)[],
  place: string,
): T {
  const tensor = parts[key];
  const where = `${place}.${key}`;
  if (!tensor) throw new HalfbyteError("ERR_MISSING", "the quantised matrix lacks a tensor", { place: where });
  if (!dtypes.includes(tensor.dtype))
    throw new HalfbyteError("ERR_UNSUPPORTED", "a tensor of this type has no place here", {
      place: where,
      expected: dtypes.join(" or "),
      got: tensor.dtype,
    });
  if (tensor.shape.length !== shape.length || shape.some((size, i) => size !== undefined && size !== tensor.shape[i]))
    throw new HalfbyteError("ERR_SHAPE", "the tensors of a matrix do not fit each other", {
      place: where,
      expected: `[${shape.map((size) => size ?? "any")}]`,
      got: shown(`[${tensor.shape}]`),
    });
  return tensor;
}

export const SCALE_DTYPES: readonly SafetensorsDtype[] = ["F16", "BF16", "F32"];

/** The bytes as unsigned words, the type of the elements put aside: in place where the bytes are aligned, else copied. */
export function wordsOf({ bytes }: Tensor): Uint32Array {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  return new Uint32Array(aligned.buffer, aligned.byteOffset, aligned.byteLength / 4);
}

/** Numbers of [N, groups] as they stand in the file. */
export function groupValuesOf(tensor: Tensor): Exclude<GroupValues, { superSize: number }> {
  const kind = FLOAT_TYPES[tensor.dtype]!;
  const bytes = tensor.bytes.slice();
  return kind === "f32"
    ? { kind, values: new Float32Array(bytes.buffer) }
    : { kind, values: new Uint16Array(bytes.buffer) };
}

/** The same, of a tensor [groups, N]. */
export function transposedGroupValues(tensor: Tensor): Exclude<GroupValues, { superSize: number }> {
  const [groups, N] = tensor.shape as [number, number];
  const from = groupValuesOf(tensor);
  return from.kind === "f32"
    ? { kind: "f32", values: transposed(from.values, groups, N) }
    : { kind: from.kind, values: transposed(from.values, groups, N) };
}

/** Numbers [N, groups] of a matrix as a tensor of that shape. */
export function groupTensor({ kind, values }: FlatValues, N: number): Tensor {
  return newTensor(FLOAT_DTYPES[kind], [N, values.length / N], values);
}

/** The same as a tensor [groups, N]. */
export function transposedGroupTensor({ kind, values }: FlatValues, N: number): Tensor {
  const groups = values.length / N;
  return newTensor(FLOAT_DTYPES[kind], [groups, N], transposed<Float32Array | Uint16Array>(values, N, groups));
}

export type FlatValues = Exclude<GroupValues, { superSize: number }>;

/** [rows, columns] to [columns, rows]. */
export function transposed<T extends Uint8Array | Uint16Array | Float32Array>(
  from: T,
  rows: number,
  columns: number,
): T {
  const out = new (from.constructor as new (length: number) => T)(from.length);
  for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) out[c * rows + r] = from[r * columns + c]!;
  return out;
}
