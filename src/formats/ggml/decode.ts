import { HalfbyteError } from "../../errors.ts";
import type { FloatType, Matrix } from "../../weights/quantized-matrix.ts";
import { matrixRowToFloat } from "../../weights/unpack.ts";
import { decodeFloats, floatMatrix } from "../float-values.ts";
import * as blocksOf32 from "./blocks-of-32.ts";
import * as blocksOf256 from "./blocks-of-256.ts";
import type { GgmlType } from "./types.ts";

const floatTypes: ReadonlyMap<string, FloatType> = new Map([
  ["F32", "f32"],
  ["F16", "f16"],
  ["BF16", "bf16"],
]);

const decoders: ReadonlyMap<string, (bytes: Uint8Array) => blocksOf32.Decoded> = new Map([
  ["Q4_0", blocksOf32.decodeQ4_0],
  ["Q4_1", blocksOf32.decodeQ4_1],
  ["Q5_0", blocksOf32.decodeQ5_0],
  ["Q5_1", blocksOf32.decodeQ5_1],
  ["Q8_0", blocksOf32.decodeQ8_0],
  ["IQ4_NL", blocksOf32.decodeIQ4_NL],
  ["MXFP4", blocksOf32.decodeMXFP4],
  ["Q2_K", blocksOf256.decodeQ2_K],
  ["Q3_K", blocksOf256.decodeQ3_K],
  ["Q4_K", blocksOf256.decodeQ4_K],
  ["Q5_K", blocksOf256.decodeQ5_K],
  ["Q6_K", blocksOf256.decodeQ6_K],
  ["IQ4_XS", blocksOf256.decodeIQ4_XS],
]);

/**
 * N whole rows of ggml blocks as a matrix [N, K] that gives the same weights bit for bit; N may be 0.
 * Throws ERR_SHAPE when the bytes do not fit the shape, ERR_UNSUPPORTED for a type that is only listed.
 */
export function decodeToMatrix(type: GgmlType, bytes: Uint8Array, N: number, K: number): Matrix {
  checkDecodes(type);
  checkShape(type, bytes, N, K);
  const floatType = floatTypes.get(type.name);
  if (floatType) return floatMatrix(floatType, bytes, N, K);
  return { kind: "quantized", N, K, ...decoders.get(type.name)!(bytes) };
}

/** Whole blocks to f32, `out.length` elements: the bits ggml's own reference gives. Throws as `decodeToMatrix`. */
export function decodeToFloat(type: GgmlType, bytes: Uint8Array, out: Float32Array): void {
  checkDecodes(type);
  checkShape(type, bytes, 1, out.length);
  const floatType = floatTypes.get(type.name);
  if (floatType) decodeFloats(floatType, bytes, out);
  else matrixRowToFloat(decodeToMatrix(type, bytes, 1, out.length), 0, out);
}

function checkShape(type: GgmlType, bytes: Uint8Array, N: number, K: number): void {
  const rowBytes = (K / type.blockSize) * type.blockBytes;
  const whole = Number.isInteger(N) && Number.isInteger(K) && N >= 0 && K >= 0 && K % type.blockSize === 0;
  if (whole && bytes.byteLength === N * rowBytes) return;
  throw new HalfbyteError("ERR_SHAPE", `bytes of ${type.name} do not fit the shape [${N}, ${K}]`, {
    expected: whole ? `${N * rowBytes} bytes` : `rows of whole blocks of ${type.blockSize}`,
    got: whole ? `${bytes.byteLength} bytes` : `rows of ${K}`,
  });
}

/** Throws ERR_UNSUPPORTED for a type that is only listed. */
export function checkDecodes(type: GgmlType): void {
  if (type.decodes) return;
  throw new HalfbyteError("ERR_UNSUPPORTED", `tensors of type ${type.name} cannot be decoded`, {
    expected: `one of ${[...floatTypes.keys(), ...decoders.keys()].join(", ")}`,
    remedy: "use another file of this model",
  });
}
