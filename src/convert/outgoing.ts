import { bf16ToF32, f16ToF32, f32ToBf16, f32ToF16 } from "../arithmetic/half.ts";
import { HalfbyteError } from "../errors.ts";
import { readBytes } from "../formats/byte-source.ts";
import { INEXACT_REMEDY } from "../formats/encodings/exact-form.ts";
import { FLOAT_DTYPES } from "../formats/encodings/tensors.ts";
import type { SafetensorsTensor } from "../formats/safetensors/open-safetensors.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import type { FloatType, Matrix } from "../weights/quantized-matrix.ts";
import { matrixRowToFloat } from "../weights/unpack.ts";
import { eachChunk } from "./chunks.ts";
import type { Outgoing, SafetensorsHeader } from "./writer.ts";

const COPY_BYTES: number = 4 * 1024 * 1024;

/** A tensor as it stands in its file. */
export function copiedTensor(tensor: SafetensorsTensor): Outgoing<SafetensorsHeader> {
  const { name, dtype, shape, source, offset, byteLength } = tensor;
  return {
    tensors: [{ name, dtype, shape, byteLength }],
    async write(put, signal) {
      for (let at = 0; at < byteLength; at += COPY_BYTES) {
        signal?.throwIfAborted();
        await put(name, at, await readBytes(source, offset + at, Math.min(COPY_BYTES, byteLength - at)));
      }
    },
  };
}

/** The weights of a matrix of any kind as floats of a type, nearest where it does not hold them. */
export function floatTensor(
  name: string,
  source: MatrixSource,
  type: FloatType,
  shape: readonly number[] = [source.N, source.K],
): Outgoing<SafetensorsHeader> {
  const bytes = type === "f32" ? 4 : 2;
  const { N, K } = source;
  return {
    tensors: [{ name, dtype: FLOAT_DTYPES[type], shape, byteLength: N * K * bytes }],
    async write(put, signal) {
      await eachChunk(source, signal, (rows, first) =>
        put(name, first * K * bytes, floatBytes(rows, type, source.inputOrder)),
      );
    },
  };
}

/** A vector in memory, as a matrix of one output. */
export function vectorSource(name: string, values: Float32Array): MatrixSource {
  const K = values.length;
  const of = (N: number): Matrix => ({ kind: "float", N, K, type: "f32", values: values.subarray(0, N * K) });
  return { name, N: 1, K, rowBytes: 4 * K, like: of(0), readRows: async (_, count) => of(count) };
}

/** Weights [N, K] of rows, inputs in their own order, little-endian. */
export function floatBytes(rows: Matrix, type: FloatType, order: Int32Array | undefined): Uint8Array {
  // Bits that need no rounding are not taken through floats.
  if (rows.kind === "float" && rows.type === type && !order)
    return new Uint8Array(rows.values.buffer, rows.values.byteOffset, rows.values.byteLength);
  const { N, K } = rows;
  if (type === "f32") {
    const values = new Float32Array(N * K);
    eachRow(rows, order, (row, n) => values.set(row, n * K));
    return new Uint8Array(values.buffer);
  }
  const toBits = type === "f16" ? f32ToF16 : f32ToBf16;
  const bits = new Uint16Array(N * K);
  eachRow(rows, order, (row, n) => {
    // `from` with a function takes ten times as long.
    for (let k = 0, at = n * K; k < K; k++) bits[at + k] = toBits(row[k]!);
  });
  return new Uint8Array(bits.buffer);
}

/** Rows of weights, inputs in their own order; the array is the same each time. */
function eachRow(rows: Matrix, order: Int32Array | undefined, visit: (row: Float32Array, n: number) => void): void {
  const { N, K } = rows;
  const row = new Float32Array(K);
  const plain = order && new Float32Array(K);
  for (let n = 0; n < N; n++) {
    matrixRowToFloat(rows, n, row);
    if (plain) for (let j = 0; j < K; j++) plain[order[j]!] = row[j]!;
    visit(plain ?? row, n);
  }
}

/** Whether a type has all of the numbers; NaN is NaN in each. */
function holds(type: FloatType, values: Float32Array): boolean {
  if (type === "f32") return true;
  const [round, exact] = type === "f16" ? [f32ToF16, f16ToF32] : [f32ToBf16, bf16ToF32];
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (exact(round(value)) !== value && !Number.isNaN(value)) return false;
  }
  return true;
}

function hasNaN(values: Float32Array): boolean {
  for (let i = 0; i < values.length; i++) if (Number.isNaN(values[i]!)) return true;
  return false;
}

/**
 * The first of `types` that has every weight of a matrix. Throws ERR_UNSUPPORTED, with the matrix as the place, where none
 * has. Names go to `withNaN` of matrices that were read and have a NaN.
 */
export async function exactFloatType(
  source: MatrixSource,
  types: readonly FloatType[],
  signal?: AbortSignal,
  withNaN?: Set<string>,
): Promise<FloatType> {
  const { like, name } = source;
  const own = like.kind === "float" && types.find((type) => type === like.type);
  if (own) return own;
  let left: readonly FloatType[] = types;
  const inexact = (): HalfbyteError =>
    new HalfbyteError("ERR_UNSUPPORTED", `${types.join(" or ")} cannot hold this tensor exactly`, {
      place: name,
      remedy: INEXACT_REMEDY,
    });
  const check = (row: Float32Array): void => {
    if (left[0] !== "f32") left = left.filter((type) => holds(type, row));
    if (withNaN && hasNaN(row)) withNaN.add(name);
    if (left.length === 0 && !withNaN) throw inexact();
  };
  if (left[0] === "f32") return "f32";
  // The order of inputs does not matter to what holds them.
  await eachChunk(source, signal, (rows) => {
    if (left[0] !== "f32") eachRow(rows, undefined, check);
  });
  if (left.length === 0) throw inexact();
  return left[0]!;
}
