import { f16ToF32, f32ToF16 } from "../arithmetic/half.ts";
import { HalfbyteError } from "../errors.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import type { Matrix, QuantizedMatrix } from "../weights/quantized-matrix.ts";
import { matrixRowToFloat } from "../weights/unpack.ts";

const GROUP = 32;
const ZERO = 128;
const LARGEST_F16 = 65504;

/** A float matrix whose rows become `quantizeToEightBits` of them as they are read. */
export function inEightBits(source: MatrixSource): MatrixSource {
  const { name, N, K, rowBytes } = source;
  const convert = (rows: Matrix): QuantizedMatrix => {
    const values = new Float32Array(rows.N * K);
    for (let n = 0; n < rows.N; n++) matrixRowToFloat(rows, n, values.subarray(n * K, (n + 1) * K));
    return quantizeToEightBits(values, rows.N, K, name);
  };
  return {
    name,
    N,
    K,
    rowBytes,
    like: convert(source.like),
    readRows: async (first, count) => convert(await source.readRows(first, count)),
  };
}

/**
 * Floats [N, K] as 8-bit codes in groups of 32, symmetric: scale = amax / 127 in f16, code = round(w / scale) + 128. This
 * is the form of ggml's Q8_0, so that the kernels for it serve; the codes are made from the scale as stored, after its
 * rounding, so a weight is off by half a step at most. Throws ERR_FORMAT for weights that are not finite and
 * ERR_UNSUPPORTED for such as no f16 scale reaches.
 */
export function quantizeToEightBits(values: Float32Array, N: number, K: number, place: string): QuantizedMatrix {
  const groups = Math.ceil(K / GROUP);
  const codes = new Uint8Array(N * K);
  const scales = new Uint16Array(N * groups);
  for (let n = 0; n < N; n++) {
    for (let g = 0; g < groups; g++) {
      const first = n * K + g * GROUP;
      const end = Math.min(first + GROUP, (n + 1) * K);
      const bits = scaleBits(values.subarray(first, end), place);
      const scale = f16ToF32(bits);
      scales[n * groups + g] = bits;
      for (let i = first; i < end; i++) codes[i] = ZERO + (scale === 0 ? 0 : roundToEven(values[i]! / scale));
    }
  }
  return {
    kind: "quantized",
    N,
    K,
    bits: 8,
    groupSize: GROUP,
    codes,
    scale: { kind: "f16", values: scales },
    zero: ZERO,
  };
}

/** The f16 nearest to amax / 127, or the next one up where rounding down would put the largest weight past code 127. */
function scaleBits(group: Float32Array, place: string): number {
  let amax = 0;
  for (const value of group) {
    if (!Number.isFinite(value)) throw new HalfbyteError("ERR_FORMAT", "a weight is not finite", { place });
    amax = Math.max(amax, Math.abs(value));
  }
  if (amax / 127 > LARGEST_F16)
    throw new HalfbyteError("ERR_UNSUPPORTED", "weights too large for 8-bit groups", {
      place,
      expected: `at most ${127 * LARGEST_F16}`,
      got: String(amax),
      remedy: "keep its float weights",
    });
  const bits = f32ToF16(amax / 127);
  return amax > 127.5 * f16ToF32(bits) ? bits + 1 : bits;
}

/** Ties go to the even number, as in the quantisation of activations. */
function roundToEven(x: number): number {
  const near = Math.round(x);
  return near - x === 0.5 && near % 2 !== 0 ? near - 1 : near;
}
