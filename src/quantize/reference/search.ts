import {
  clampCode,
  codeOf,
  type Grid,
  type GroupParameters,
  rangeParameters,
  SMALLEST_RANGE,
  steps,
  stored,
  weightOf,
} from "../grid.ts";

const { fround } = Math;

/** Scales that are tried; each is then fitted to the codes it gives. */
const CANDIDATES = 24;
/** The narrowest scale spans 1 step less than the codes; each further one spans so many more, and cuts the extremes. */
const CANDIDATE_STEP = 0.25;

/**
 * Parameters of one group that leave the least Σ importance · (weight − value)²: scales between full range and three
 * quarters of it, each fitted to its codes by weighted least squares, stored, and judged by what the stored ones give. Sums
 * are f32 in ascending order. No worse than `rangeParameters`.
 */
export function searchGroup(weights: Float32Array, importance: Float32Array, grid: Grid): GroupParameters {
  const largest = 2 ** grid.bits - 1;
  let lo = Infinity;
  let hi = -Infinity;
  let sumH = 0;
  let sumHW = 0;
  weights.forEach((w, k) => {
    lo = Math.min(lo, w);
    hi = Math.max(hi, w);
    sumH = fround(sumH + importance[k]!);
    sumHW = fround(sumHW + fround(importance[k]! * w));
  });
  let best = rangeParameters(lo, hi, grid);
  let least = squaredError(weights, importance, best, largest);
  for (let i = 0; i < CANDIDATES; i++) {
    const first = candidate(lo, hi, grid, largest, i);
    let sumC = 0;
    let sumCC = 0;
    let sumWC = 0;
    weights.forEach((w, k) => {
      const code = clampCode(steps(fround(fround(fround(w - first.centre) * first.inverse) + first.middle)), largest);
      const weighted = fround(importance[k]! * code);
      sumC = fround(sumC + weighted);
      sumCC = fround(sumCC + fround(weighted * code));
      sumWC = fround(sumWC + fround(weighted * w));
    });
    const fitted = fitGroup(grid, first, { sumH, sumHW, sumC, sumCC, sumWC }, largest);
    const error = squaredError(weights, importance, fitted, largest);
    if (!(error < least)) continue;
    least = error;
    best = fitted;
  }
  return best;
}

interface Candidate {
  readonly scale: number;
  readonly inverse: number;
  /** The weight whose code is `middle`. */
  readonly centre: number;
  readonly middle: number;
}

/** Symmetric scales have the sign that puts the extreme weight on the side that has one code more. */
function candidate(lo: number, hi: number, grid: Grid, largest: number, i: number): Candidate {
  const more = fround(i * CANDIDATE_STEP - 1);
  if (grid.kind === "symmetric") {
    const extreme = hi >= -lo ? hi : lo;
    const scale = fround(-extreme / (grid.zero + more));
    return { scale, inverse: scale === 0 ? 0 : fround(1 / scale), centre: 0, middle: grid.zero };
  }
  const least = grid.kind === "zero-point" ? Math.min(lo, 0) : lo;
  const most = grid.kind === "zero-point" ? Math.max(hi, 0) : hi;
  const scale = fround(Math.max(fround(most - least), SMALLEST_RANGE) / (largest + more));
  const centre = fround(fround(least * 0.5) + fround(most * 0.5));
  return { scale, inverse: fround(1 / scale), centre, middle: largest / 2 };
}

interface Sums {
  readonly sumH: number;
  readonly sumHW: number;
  readonly sumC: number;
  readonly sumCC: number;
  readonly sumWC: number;
}

/** Least squares of w ≈ scale · code + least, or of w ≈ scale · (code − zero). */
function fitGroup(grid: Grid, first: Candidate, sums: Sums, largest: number): GroupParameters {
  const { sumH, sumHW, sumC, sumCC, sumWC } = sums;
  const ofScale = (zero: number, otherwise: number): number => {
    const above = fround(sumWC - fround(zero * sumHW));
    const below = fround(fround(sumCC - fround(fround(2 * zero) * sumC)) + fround(fround(zero * zero) * sumH));
    const scale = fround(above / below);
    const usable = below > 0 && (grid.kind === "symmetric" ? scale !== 0 : scale > 0) && Math.abs(scale) < Infinity;
    return stored(grid.scaleType, usable ? scale : otherwise);
  };
  if (grid.kind === "symmetric") return { scale: ofScale(grid.zero, first.scale), zero: grid.zero, offset: 0 };
  const determinant = fround(fround(sumH * sumCC) - fround(sumC * sumC));
  const slope = fround(fround(fround(sumH * sumWC) - fround(sumHW * sumC)) / determinant);
  const start = fround(fround(fround(sumCC * sumHW) - fround(sumC * sumWC)) / determinant);
  const usable = determinant > 0 && slope > 0 && slope < Infinity && Math.abs(start) < Infinity;
  const scale = usable ? slope : first.scale;
  const least = usable ? start : fround(first.centre - fround(first.scale * first.middle));
  if (grid.kind === "offset") {
    const offset = stored(grid.scaleType, fround(least + fround(scale * grid.zero)));
    return { scale: stored(grid.scaleType, scale), zero: grid.zero, offset };
  }
  const zero = clampCode(steps(fround(-least / scale)), largest);
  return { scale: ofScale(zero, scale), zero, offset: 0 };
}

/** Σ importance · (weight − value)², f32. */
function squaredError(
  weights: Float32Array,
  importance: Float32Array,
  parameters: GroupParameters,
  largest: number,
): number {
  let sum = 0;
  weights.forEach((w, k) => {
    const difference = fround(w - weightOf(codeOf(w, parameters, largest), parameters));
    sum = fround(sum + fround(fround(importance[k]! * difference) * difference));
  });
  return sum;
}
