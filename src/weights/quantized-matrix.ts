/** How numbers of 16 or 32 bits stand in memory. */
export type FloatType = "f32" | "f16" | "bf16";

/** Code widths of the packed layout. Narrower codes (2- and 3-bit k-quants) stand in 4 bits. */
export type CodeBits = 4 | 5 | 6 | 8;

/**
 * One number per output and group, [N, groups], row by row.
 *
 * - flat: as the file has them, f16 and bf16 by their bits.
 * - two-level: `value = f32(superValues[n, ⌊g·groupSize / superSize⌋]) · codes[n, g]`, rounded once to f32.
 */
export type GroupValues =
  | { readonly kind: "f32"; readonly values: Float32Array }
  | { readonly kind: "f16" | "bf16"; readonly values: Uint16Array }
  | {
      readonly kind: "two-level-u8" | "two-level-i8";
      /** [N, groups]; i8 codes by their bits. */
      readonly codes: Uint8Array;
      /** f16 bits, [N, ceil(K / superSize)]. */
      readonly superValues: Uint16Array;
      /** Inputs under one super value: 256 in k-quants. */
      readonly superSize: number;
    };

/**
 * The one meaning of quantised weights, whatever file they came from: N outputs × K inputs,
 * `w[n,k] = scale[n,g] · (value(code[n,k]) − zero[n,g]) + offset[n,g]` with g = ⌊k / groupSize⌋.
 *
 * `value(code)` is the code itself, or `codeBook[code]`. A two-level offset is stored by its magnitude and subtracted
 * (k-quants have `d·sc·q − dmin·m`): its value here is `−(dmin·m)`. The last group may be shorter than groupSize.
 */
export interface QuantizedMatrix {
  readonly kind: "quantized";
  readonly N: number;
  readonly K: number;
  readonly bits: CodeBits;
  /** A multiple of 16, or K itself for one group per output. */
  readonly groupSize: number;
  /** u8 [N, K]. */
  readonly codes: Uint8Array;
  /** 16 signed values that 4-bit codes stand for (IQ4_NL, MXFP4). */
  readonly codeBook?: Int8Array;
  readonly scale: GroupValues;
  /** One for all, or u8 [N, groups]. */
  readonly zero: number | Uint8Array;
  readonly offset?: GroupValues;
}

/** Weights kept as floats: [N, K] row by row, f16 and bf16 by their bits. */
export interface FloatMatrix {
  readonly kind: "float";
  readonly N: number;
  readonly K: number;
  readonly type: FloatType;
  readonly values: Float32Array | Uint16Array;
}

export type Matrix = QuantizedMatrix | FloatMatrix;

/** Groups along K: the last may be shorter. */
export function groupCount(K: number, groupSize: number): number {
  return Math.ceil(K / groupSize);
}

/**
 * Inputs per activation group for weights of a group size: the weight group held within 32..128
 * (one group per output: 128). Arithmetic rule 3.
 */
export function activationGroupSize(groupSize: number, K: number): number {
  if (groupSize >= K) return 128;
  return Math.min(128, Math.max(32, groupSize));
}
