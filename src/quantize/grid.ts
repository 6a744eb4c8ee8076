import { bf16ToF32, f16ToF32, f32ToBf16, f32ToF16 } from "../arithmetic/half.ts";
import type { FloatType } from "../weights/quantized-matrix.ts";

/**
 * What a group's values may be: `w = scale · (code − zero) + offset`.
 *
 * - symmetric: zero is the same for all, there is no offset.
 * - zero-point: a whole zero of 0 to 2^bits − 1 for each group, no offset.
 * - offset: zero is the same for all, a real offset for each group.
 */
export type GridKind = "symmetric" | "zero-point" | "offset";

/** The values that weights are rounded to: what an encoding can hold. */
export interface Grid {
  readonly kind: GridKind;
  readonly bits: 4 | 8;
  /** Inputs that share parameters; K for one group per output. */
  readonly groupSize: number;
  /** The zero of all groups; of no meaning where each has its own. */
  readonly zero: number;
  /** How scales and offsets are stored. Codes follow the stored ones, but for cpu_int4's rounding to nearest. */
  readonly scaleType: FloatType;
  /** Scales and offsets have 6 bits under two f16 for so many inputs (Q4_K). */
  readonly superSize?: number;
}

/** Parameters of one group, all f32. */
export interface GroupParameters {
  readonly scale: number;
  readonly zero: number;
  readonly offset: number;
}

const { fround } = Math;

/** Ranges below it would have scales that are no normal numbers. */
export const SMALLEST_RANGE: number = fround(1e-9);
/** Steps past it are out of every range of codes. */
const FAR = 1024;
/** Adding 1.5 · 2²³ rounds an f32 below 2²² to an integer, ties to even. */
const ROUND = 12582912;

/** The f32 value of x once stored. */
export function stored(type: FloatType, x: number): number {
  return type === "f32" ? fround(x) : type === "f16" ? f16ToF32(f32ToF16(x)) : bf16ToF32(f32ToBf16(x));
}

/** x held within ±1024 and rounded to an integer, ties to even. */
export function steps(x: number): number {
  return fround(fround(Math.min(Math.max(x, -FAR), FAR)) + ROUND) - ROUND;
}

export function clampCode(code: number, largest: number): number {
  return Math.min(Math.max(code, 0), largest);
}

/** The code nearest to a weight; with a scale of 0 the zero. */
export function codeOf(weight: number, { scale, zero, offset }: GroupParameters, largest: number): number {
  if (scale === 0) return zero;
  return clampCode(steps(fround(fround(weight - offset) / scale)) + zero, largest);
}

/** As executors read it. */
export function weightOf(code: number, { scale, zero, offset }: GroupParameters): number {
  return fround(fround(scale * (code - zero)) + offset);
}

/** Parameters from the least and largest weight alone: min/max rounding to nearest. */
export function rangeParameters(lo: number, hi: number, grid: Grid): GroupParameters {
  const largest = 2 ** grid.bits - 1;
  if (grid.kind === "symmetric") {
    const scale = stored(grid.scaleType, fround(Math.max(hi, -lo) / (largest / 2)));
    return { scale, zero: grid.zero, offset: 0 };
  }
  if (grid.kind === "zero-point") {
    const from = Math.min(lo, 0);
    const scale = stored(grid.scaleType, fround(fround(Math.max(hi, 0) - from) / largest));
    return { scale, zero: scale === 0 ? 0 : clampCode(steps(fround(-from / scale)), largest), offset: 0 };
  }
  const scale = fround(Math.max(fround(hi - lo), SMALLEST_RANGE) / largest);
  const offset = fround(lo + fround(grid.zero * scale));
  return { scale: stored(grid.scaleType, scale), zero: grid.zero, offset: stored(grid.scaleType, offset) };
}
