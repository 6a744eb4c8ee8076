import { clampCode, codeOf, type Grid, rangeParameters, SMALLEST_RANGE, steps } from "../grid.ts";

const { fround } = Math;

/** Codes u8 [rows, K] and, as stored, scale and second (zero or offset) f32 [rows, groups]. */
export interface RoundedRows {
  readonly codes: Uint8Array;
  readonly scales: Float32Array;
  readonly seconds: Float32Array;
}

/**
 * Min/max rounding to nearest of f32 [rows, K]. With offsets codes are counted from the least weight by the scale before it
 * is stored, as vLLM-Omni's cpu_int4 does; otherwise by the stored scale.
 */
export function roundRows(weights: Float32Array, K: number, grid: Grid): RoundedRows {
  const { groupSize, kind, bits } = grid;
  const largest = 2 ** bits - 1;
  const groups = weights.length / groupSize;
  const codes = new Uint8Array(weights.length);
  const scales = new Float32Array(groups);
  const seconds = new Float32Array(groups);
  if (K % groupSize !== 0) throw new RangeError("groups do not divide the row");
  for (let g = 0; g < groups; g++) {
    const first = g * groupSize;
    const group = weights.subarray(first, first + groupSize);
    const lo = group.reduce((least, w) => Math.min(least, w), Infinity);
    const hi = group.reduce((most, w) => Math.max(most, w), -Infinity);
    const parameters = rangeParameters(lo, hi, grid);
    const exact = fround(Math.max(fround(hi - lo), SMALLEST_RANGE) / largest);
    for (let k = 0; k < groupSize; k++)
      codes[first + k] =
        kind === "offset"
          ? clampCode(steps(fround(fround(group[k]! - lo) / exact)), largest)
          : codeOf(group[k]!, parameters, largest);
    scales[g] = parameters.scale;
    seconds[g] = kind === "offset" ? parameters.offset : parameters.zero;
  }
  return { codes, scales, seconds };
}
