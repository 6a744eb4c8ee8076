import { bf16ToF32, f16ToF32 } from "../arithmetic/half.ts";
import { HalfbyteError } from "../errors.ts";
import type { FloatMatrix, FloatType } from "../weights/quantized-matrix.ts";

/** Bytes of one element. */
export function floatBytes(type: FloatType): number {
  return type === "f32" ? 4 : 2;
}

/** Little-endian f32, f16 or bf16 as a matrix [N, K] in memory of its own, whatever the alignment of `bytes`. */
export function floatMatrix(type: FloatType, bytes: Uint8Array, N: number, K: number): FloatMatrix {
  checkLength(bytes, N * K * floatBytes(type));
  const values = type === "f32" ? new Float32Array(N * K) : new Uint16Array(N * K);
  // Typed arrays have the byte order of the machine, and every machine that runs JavaScript today is little-endian.
  new Uint8Array(values.buffer).set(bytes);
  return { kind: "float", N, K, type, values };
}

/** Little-endian f32, f16 or bf16 to `out`, exact. Throws ERR_SHAPE when the lengths differ. */
export function decodeFloats(type: FloatType, bytes: Uint8Array, out: Float32Array): void {
  checkLength(bytes, out.length * floatBytes(type));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (type === "f32") {
    new Uint8Array(out.buffer, out.byteOffset, out.byteLength).set(bytes);
  } else {
    const toF32 = type === "f16" ? f16ToF32 : bf16ToF32;
    for (let i = 0; i < out.length; i++) out[i] = toF32(view.getUint16(2 * i, true));
  }
}

function checkLength(bytes: Uint8Array, expected: number): void {
  if (bytes.byteLength === expected) return;
  throw new HalfbyteError("ERR_SHAPE", "wrong number of bytes for the shape", {
    expected: String(expected),
    got: String(bytes.byteLength),
  });
}
