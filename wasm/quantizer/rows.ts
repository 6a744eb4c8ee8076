// Rows as they stand in a file, f32 [rows][K], and panels of 16 outputs, f32 [K][16].
import { code4, OFFSET, offsetRange4, rangeScale4, rangeSecond4 } from "./grid";

/** src/quantize/reference/round-to-nearest.ts over rows × groups; groups of a multiple of 4, or any with 4-byte steps. */
export function roundRows(
  weights: usize,
  groups: i32,
  G: i32,
  kind: i32,
  largest: f32,
  zero: f32,
  type: i32,
  codes: usize,
  scales: usize,
  seconds: usize,
): void {
  for (let g = 0; g < groups; g++, weights += <usize>G << 2, codes += <usize>G, scales += 4, seconds += 4) {
    let lo4 = f32x4.splat(Infinity);
    let hi4 = f32x4.splat(-Infinity);
    let k = 0;
    for (; k <= G - 4; k += 4) {
      const w = v128.load(weights + (<usize>k << 2));
      lo4 = f32x4.min(lo4, w);
      hi4 = f32x4.max(hi4, w);
    }
    for (; k < G; k++) {
      const w = f32x4.splat(load<f32>(weights + (<usize>k << 2)));
      lo4 = f32x4.min(lo4, w);
      hi4 = f32x4.max(hi4, w);
    }
    const lo = f32x4.splat(leastOf(lo4));
    const hi = f32x4.neg(f32x4.splat(leastOf(f32x4.neg(hi4))));
    const scale = rangeScale4(lo, hi, kind, largest, type);
    const second = rangeSecond4(lo, hi, scale, kind, largest, zero, type);
    store<f32>(scales, f32x4.extract_lane(scale, 0));
    store<f32>(seconds, f32x4.extract_lane(second, 0));
    // Codes of offsets are counted from the least weight, by the scale before it is stored.
    if (kind == OFFSET)
      codeGroup(weights, G, lo, f32x4.div(offsetRange4(lo, hi), f32x4.splat(largest)), f32x4.splat(0), f32x4.splat(largest), codes);
    else codeGroup(weights, G, f32x4.splat(0), scale, second, f32x4.splat(largest), codes);
  }
}

function leastOf(x: v128): f32 {
  const pairs = f32x4.min(x, v128.shuffle<i32>(x, x, 2, 3, 0, 1));
  return min(f32x4.extract_lane(pairs, 0), f32x4.extract_lane(pairs, 1));
}

// @ts-ignore: decorator
@inline
function codeGroup(weights: usize, G: i32, from: v128, step: v128, base: v128, largest: v128, codes: usize): void {
  let k = 0;
  for (; k <= G - 16; k += 16, weights += 64, codes += 16) {
    const a = i32x4.trunc_sat_f32x4_s(code4(v128.load(weights), step, base, from, largest));
    const b = i32x4.trunc_sat_f32x4_s(code4(v128.load(weights, 16), step, base, from, largest));
    const c = i32x4.trunc_sat_f32x4_s(code4(v128.load(weights, 32), step, base, from, largest));
    const d = i32x4.trunc_sat_f32x4_s(code4(v128.load(weights, 48), step, base, from, largest));
    v128.store(codes, i8x16.narrow_i16x8_u(i16x8.narrow_i32x4_s(a, b), i16x8.narrow_i32x4_s(c, d)));
  }
  for (; k < G; k++, weights += 4, codes++) {
    const code = code4(f32x4.splat(load<f32>(weights)), step, base, from, largest);
    store<u8>(codes, <u8>i32x4.extract_lane(i32x4.trunc_sat_f32x4_s(code), 0));
  }
}

/** Rows to a panel; outputs past `count` are 0. */
export function panelOfRows(rows: usize, count: i32, K: i32, panel: usize): void {
  for (let n = 0; n < 16; n++) {
    let to = panel + (<usize>n << 2);
    if (n < count) {
      let from = rows + ((<usize>n * <usize>K) << 2);
      for (let k = 0; k < K; k++, from += 4, to += 64) store<f32>(to, load<f32>(from));
    } else for (let k = 0; k < K; k++, to += 64) store<f32>(to, 0);
  }
}

/** Codes u8 [K][16] to `count` rows. */
export function rowsOfCodes(panel: usize, count: i32, K: i32, rows: usize): void {
  for (let n = 0; n < count; n++) {
    let from = panel + <usize>n;
    for (let k = 0; k < K; k++, from += 16, rows++) store<u8>(rows, load<u8>(from));
  }
}

/** Whether all of `count` floats are within ±limit; false for NaN. */
export function allWithin(x: usize, count: i32, limit: f32): bool {
  const limit4 = f32x4.splat(limit);
  let all = i32x4.splat(-1);
  const end = x + (<usize>(count & ~3) << 2);
  for (; x < end; x += 16) all = v128.and(all, f32x4.le(f32x4.abs(v128.load(x)), limit4));
  if (!i32x4.all_true(all)) return false;
  for (let i = count & 3; i > 0; i--, x += 4) if (!(abs(load<f32>(x)) <= limit)) return false;
  return true;
}
