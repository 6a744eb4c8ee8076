// Arithmetic rule 3. Codes stand in the form that linear-row.ts and linear-tile.ts multiply: where relaxed SIMD
// multiplies bytes and codes fit them, one byte an input, in order; otherwise 16 bits an input, in each quad inputs 0,
// 2, 1, 3.

/** Below this a group is all zeros: its scale would be no normal number. */
const SMALLEST_AMAX: f32 = 1e-30;
/** Adding 1.5 · 2²³ rounds an f32 below 2²² to an integer, ties to even, that stands in the low bits. */
const ROUND: f32 = 12582912;

/** Whether rows whose largest code is `max` stand as bytes. */
// @ts-ignore: decorator
@inline
export function usesBytes(max: f32): bool {
  return ASC_FEATURE_RELAXED_SIMD && max == 127;
}

/**
 * Quantises a row of K f32 at x. out: codes at 0, up to paddedK; f32 scales of `group` inputs at scaleAt; i32 sums of
 * the codes of `run` inputs at sumAt. group and run are multiples of 16 or reach the row's end. max: 127 or 32767.
 */
export function quantizeRow(
  x: usize,
  out: usize,
  K: i32,
  paddedK: i32,
  group: i32,
  run: i32,
  scaleAt: i32,
  sumAt: i32,
  max: f32,
): void {
  const bytes = usesBytes(max);
  let scales = out + scaleAt;
  for (let first = 0; first < K; first += group, scales += 4) {
    const count = min(group, K - first);
    const from = x + (<usize>first << 2);
    const amax = largest(from, count);
    const finite = amax < Infinity;
    const zero = amax < SMALLEST_AMAX;
    store<f32>(scales, zero ? 0 : amax / max);
    // NaN and infinity: the scale says so, and all codes are 0.
    const inverse: f32 = zero || !finite ? 0 : max / amax;
    const at = out + (bytes ? <usize>first : <usize>first << 1);
    if (bytes) codeGroup(true, from, count, inverse, finite, at);
    else codeGroup(false, from, count, inverse, finite, at);
  }
  const padded = (K + 15) & ~15;
  if (bytes) memory.fill(out + padded, 0, paddedK - padded);
  else memory.fill(out + (<usize>padded << 1), 0, <usize>(paddedK - padded) << 1);
  if (bytes) sumRuns(true, out, K, run, out + sumAt);
  else sumRuns(false, out, K, run, out + sumAt);
}

/** All ones in the first `count` of four lanes from lane `first`. */
// @ts-ignore: decorator
@inline
function lanesBelow(count: i32, first: i32): v128 {
  return i32x4.lt_s(i32x4.add(i32x4(0, 1, 2, 3), i32x4.splat(first)), i32x4.splat(count));
}

/** max |x|; NaN if there is one. Rows are readable in whole sixteens. */
function largest(x: usize, count: i32): f32 {
  let a = f32x4.splat(0);
  let b = a;
  for (; count >= 16; count -= 16, x += 64) {
    a = f32x4.max(a, f32x4.max(f32x4.abs(v128.load(x)), f32x4.abs(v128.load(x, 16))));
    b = f32x4.max(b, f32x4.max(f32x4.abs(v128.load(x, 32)), f32x4.abs(v128.load(x, 48))));
  }
  for (; count > 0; count -= 4, x += 16) a = f32x4.max(a, v128.and(f32x4.abs(v128.load(x)), lanesBelow(count, 0)));
  a = f32x4.max(a, b);
  a = f32x4.max(a, v128.shuffle<i32>(a, a, 2, 3, 0, 1));
  return max(f32x4.extract_lane(a, 0), f32x4.extract_lane(a, 1));
}

/** Codes of four inputs. */
// @ts-ignore: decorator
@inline
function code4(x: v128, inverse: v128): v128 {
  const rounded = f32x4.add(f32x4.mul(x, inverse), f32x4.splat(ROUND));
  return i32x4.sub(rounded, i32x4.splat(reinterpret<i32>(ROUND)));
}

/** Codes of a group, in sixteens; those past `count` are 0. */
// @ts-ignore: decorator
@inline
function codeGroup(bytes: bool, x: usize, count: i32, inverse: f32, finite: bool, at: usize): void {
  const inverse4 = f32x4.splat(inverse);
  const all = i32x4.splat(finite ? -1 : 0);
  for (; count > 0; count -= 16, x += 64) {
    let c0 = v128.and(code4(v128.load(x), inverse4), all);
    let c1 = v128.and(code4(v128.load(x, 16), inverse4), all);
    let c2 = v128.and(code4(v128.load(x, 32), inverse4), all);
    let c3 = v128.and(code4(v128.load(x, 48), inverse4), all);
    if (count < 16) {
      c0 = v128.and(c0, lanesBelow(count, 0));
      c1 = v128.and(c1, lanesBelow(count, 4));
      c2 = v128.and(c2, lanesBelow(count, 8));
      c3 = v128.and(c3, lanesBelow(count, 12));
    }
    const low = i16x8.narrow_i32x4_s(c0, c1);
    const high = i16x8.narrow_i32x4_s(c2, c3);
    if (bytes) {
      v128.store(at, i8x16.narrow_i16x8_s(low, high));
      at += 16;
    } else {
      v128.store(at, v128.shuffle<i16>(low, low, 0, 2, 1, 3, 4, 6, 5, 7));
      v128.store(at, v128.shuffle<i16>(high, high, 0, 2, 1, 3, 4, 6, 5, 7), 16);
      at += 32;
    }
  }
}

// @ts-ignore: decorator
@inline
function sumRuns(bytes: bool, codes: usize, K: i32, run: i32, sums: usize): void {
  for (let first = 0; first < K; first += run, sums += 4) {
    let sum = i32x4.splat(0);
    for (let n = min(run, K - first); n > 0; n -= 16) {
      if (bytes) {
        sum = i32x4.add(sum, i32x4.extadd_pairwise_i16x8_s(i16x8.extadd_pairwise_i8x16_s(v128.load(codes))));
        codes += 16;
      } else {
        sum = i32x4.add(sum, i32x4.extadd_pairwise_i16x8_s(v128.load(codes)));
        sum = i32x4.add(sum, i32x4.extadd_pairwise_i16x8_s(v128.load(codes, 16)));
        codes += 32;
      }
    }
    sum = i32x4.add(sum, v128.shuffle<i32>(sum, sum, 2, 3, 0, 1));
    store<i32>(sums, i32x4.extract_lane(sum, 0) + i32x4.extract_lane(sum, 1));
  }
}
