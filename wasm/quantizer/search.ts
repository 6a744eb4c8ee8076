// src/quantize/reference/search.ts over a panel: each lane an output.
import { clamp4, code4, OFFSET, rangeScale4, rangeSecond4, SMALLEST_RANGE, steps4, stored4, SYMMETRIC, value4, ZERO_POINT } from "./grid";

const CANDIDATES: i32 = 24;
const CANDIDATE_STEP: f32 = 0.25;

/** panel f32 [K][16], importance f32 [K]; scales and seconds f32 [groups][16]. */
export function searchPanel(
  panel: usize,
  importance: usize,
  K: i32,
  G: i32,
  kind: i32,
  largest: f32,
  zero: f32,
  type: i32,
  scales: usize,
  seconds: usize,
): void {
  for (let k = 0; k < K; k += G) {
    for (let lane: usize = 0; lane < 64; lane += 16)
      searchGroup(panel + lane, importance, G, kind, largest, zero, type, scales + lane, seconds + lane);
    panel += <usize>G << 6;
    importance += <usize>G << 2;
    scales += 64;
    seconds += 64;
  }
}

function searchGroup(
  w: usize,
  h: usize,
  G: i32,
  kind: i32,
  largest: f32,
  zero: f32,
  type: i32,
  scales: usize,
  seconds: usize,
): void {
  const none = f32x4.splat(0);
  const largest4 = f32x4.splat(largest);
  let lo = f32x4.splat(Infinity);
  let hi = f32x4.splat(-Infinity);
  let sumH = none;
  let sumHW = none;
  for (let k = 0, at = w, ht = h; k < G; k++, at += 64, ht += 4) {
    const x = v128.load(at);
    const weight = v128.load32_splat(ht);
    lo = f32x4.min(lo, x);
    hi = f32x4.max(hi, x);
    sumH = f32x4.add(sumH, weight);
    sumHW = f32x4.add(sumHW, f32x4.mul(weight, x));
  }
  let bestScale = rangeScale4(lo, hi, kind, largest, type);
  let bestSecond = rangeSecond4(lo, hi, bestScale, kind, largest, zero, type);
  let least = squaredError(w, h, G, kind, bestScale, bestSecond, zero, largest4);

  // What all candidates share.
  const extreme = v128.bitselect(hi, lo, f32x4.ge(hi, f32x4.neg(lo)));
  const from = kind == ZERO_POINT ? f32x4.min(lo, none) : lo;
  const to = kind == ZERO_POINT ? f32x4.max(hi, none) : hi;
  const range = f32x4.max(f32x4.sub(to, from), f32x4.splat(SMALLEST_RANGE));
  const half = f32x4.splat(0.5);
  const centre = kind == SYMMETRIC ? none : f32x4.add(f32x4.mul(from, half), f32x4.mul(to, half));
  const middle = f32x4.splat(kind == SYMMETRIC ? zero : largest / 2);

  for (let i = 0; i < CANDIDATES; i++) {
    const more: f32 = <f32>i * CANDIDATE_STEP - 1;
    let first: v128;
    let inverse: v128;
    if (kind == SYMMETRIC) {
      first = f32x4.div(f32x4.neg(extreme), f32x4.splat(zero + more));
      inverse = v128.andnot(f32x4.div(f32x4.splat(1), first), f32x4.eq(first, none));
    } else {
      first = f32x4.div(range, f32x4.splat(largest + more));
      inverse = f32x4.div(f32x4.splat(1), first);
    }
    let sumC = none;
    let sumCC = none;
    let sumWC = none;
    for (let k = 0, at = w, ht = h; k < G; k++, at += 64, ht += 4) {
      const x = v128.load(at);
      const code = clamp4(steps4(f32x4.add(f32x4.mul(f32x4.sub(x, centre), inverse), middle)), largest4);
      const weighted = f32x4.mul(v128.load32_splat(ht), code);
      sumC = f32x4.add(sumC, weighted);
      sumCC = f32x4.add(sumCC, f32x4.mul(weighted, code));
      sumWC = f32x4.add(sumWC, f32x4.mul(weighted, x));
    }
    let scale: v128;
    let second: v128;
    if (kind == SYMMETRIC) {
      second = f32x4.splat(zero);
      scale = fitScale(true, type, second, first, sumH, sumHW, sumC, sumCC, sumWC);
    } else {
      const determinant = f32x4.sub(f32x4.mul(sumH, sumCC), f32x4.mul(sumC, sumC));
      const slope = f32x4.div(f32x4.sub(f32x4.mul(sumH, sumWC), f32x4.mul(sumHW, sumC)), determinant);
      const start = f32x4.div(f32x4.sub(f32x4.mul(sumCC, sumHW), f32x4.mul(sumC, sumWC)), determinant);
      let usable = v128.and(f32x4.gt(determinant, none), f32x4.gt(slope, none));
      usable = v128.and(usable, f32x4.lt(slope, f32x4.splat(Infinity)));
      usable = v128.and(usable, f32x4.lt(f32x4.abs(start), f32x4.splat(Infinity)));
      const raw = v128.bitselect(slope, first, usable);
      const leastWeight = v128.bitselect(start, f32x4.sub(centre, f32x4.mul(first, middle)), usable);
      if (kind == OFFSET) {
        scale = stored4(type, raw);
        second = stored4(type, f32x4.add(leastWeight, f32x4.mul(raw, f32x4.splat(zero))));
      } else {
        second = clamp4(steps4(f32x4.div(f32x4.neg(leastWeight), raw)), largest4);
        scale = fitScale(false, type, second, raw, sumH, sumHW, sumC, sumCC, sumWC);
      }
    }
    const error = squaredError(w, h, G, kind, scale, second, zero, largest4);
    const better = f32x4.lt(error, least);
    least = v128.bitselect(error, least, better);
    bestScale = v128.bitselect(scale, bestScale, better);
    bestSecond = v128.bitselect(second, bestSecond, better);
  }
  v128.store(scales, bestScale);
  v128.store(seconds, bestSecond);
}

function fitScale(
  symmetric: bool,
  type: i32,
  zero: v128,
  otherwise: v128,
  sumH: v128,
  sumHW: v128,
  sumC: v128,
  sumCC: v128,
  sumWC: v128,
): v128 {
  const none = f32x4.splat(0);
  const above = f32x4.sub(sumWC, f32x4.mul(zero, sumHW));
  const twice = f32x4.mul(f32x4.splat(2), zero);
  const below = f32x4.add(f32x4.sub(sumCC, f32x4.mul(twice, sumC)), f32x4.mul(f32x4.mul(zero, zero), sumH));
  const scale = f32x4.div(above, below);
  const sign = symmetric ? f32x4.ne(scale, none) : f32x4.gt(scale, none);
  let usable = v128.and(f32x4.gt(below, none), sign);
  usable = v128.and(usable, f32x4.lt(f32x4.abs(scale), f32x4.splat(Infinity)));
  return stored4(type, v128.bitselect(scale, otherwise, usable));
}

// @ts-ignore: decorator
@inline
function squaredError(
  w: usize,
  h: usize,
  G: i32,
  kind: i32,
  scale: v128,
  second: v128,
  zero: f32,
  largest: v128,
): v128 {
  const zero4 = kind == OFFSET ? f32x4.splat(zero) : second;
  const offset = kind == OFFSET ? second : f32x4.splat(0);
  let sum = f32x4.splat(0);
  for (let k = 0; k < G; k++, w += 64, h += 4) {
    const x = v128.load(w);
    const difference = f32x4.sub(x, value4(code4(x, scale, zero4, offset, largest), scale, zero4, offset));
    sum = f32x4.add(sum, f32x4.mul(f32x4.mul(v128.load32_splat(h), difference), difference));
  }
  return sum;
}

/** Codes u8 [K][16] of a panel by its parameters; the panel becomes what is lost, weight − value. */
export function codePanel(
  panel: usize,
  K: i32,
  G: i32,
  kind: i32,
  largest: f32,
  zero: f32,
  scales: usize,
  seconds: usize,
  codes: usize,
): void {
  const largest4 = f32x4.splat(largest);
  for (let k = 0; k < K; k++, panel += 64, codes += 16) {
    const g = <usize>(k / G) << 6;
    for (let lane: usize = 0; lane < 4; lane++) {
      const at = panel + (lane << 4);
      const scale = v128.load(scales + g + (lane << 4));
      const second = v128.load(seconds + g + (lane << 4));
      const zero4 = kind == OFFSET ? f32x4.splat(zero) : second;
      const offset = kind == OFFSET ? second : f32x4.splat(0);
      const x = v128.load(at);
      const code = code4(x, scale, zero4, offset, largest4);
      v128.store(at, f32x4.sub(x, value4(code, scale, zero4, offset)));
      storeCodes(codes + (lane << 2), code);
    }
  }
}

// @ts-ignore: decorator
@inline
export function storeCodes(at: usize, code: v128): void {
  const words = i32x4.trunc_sat_f32x4_s(code);
  const halves = i16x8.narrow_i32x4_s(words, words);
  v128.store32_lane(at, i8x16.narrow_i16x8_u(halves, halves), 0);
}
