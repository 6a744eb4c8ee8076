import { HALF_BITS, HALF_FACTOR } from "./control";

const F16_LARGEST: i16 = 0x7bff;

/** Four f16, sign-extended to i32, to f32: exact, subnormals too; infinities and NaN come out finite. */
// @ts-ignore: decorator
@inline
function finiteHalves(halves: v128, bits: v128, factor: v128): v128 {
  return f32x4.mul(v128.and(i32x4.shl(halves, 13), bits), factor);
}

/** count f16 at `source`, a multiple of 16, to f32. Infinities become NaN: the cache holds none, as stores saturate. */
export function halvesToFloats(source: usize, count: i32, target: usize): void {
  const bits = v128.load(HALF_BITS);
  const factor = v128.load(HALF_FACTOR);
  let largest = i16x8.splat(0);
  const end = source + (<usize>count << 1);
  let at = target;
  for (let p = source; p < end; p += 32, at += 64) {
    const a = v128.load(p);
    const b = v128.load(p, 16);
    // A stored NaN is 0x7e00, past every finite positive f16.
    largest = i16x8.max_s(largest, i16x8.max_s(a, b));
    v128.store(at, finiteHalves(i32x4.extend_low_i16x8_s(a), bits, factor));
    v128.store(at, finiteHalves(i32x4.extend_high_i16x8_s(a), bits, factor), 16);
    v128.store(at, finiteHalves(i32x4.extend_low_i16x8_s(b), bits, factor), 32);
    v128.store(at, finiteHalves(i32x4.extend_high_i16x8_s(b), bits, factor), 48);
  }
  if (!v128.any_true(i16x8.gt_s(largest, i16x8.splat(F16_LARGEST)))) return;
  for (let p = source; p < end; p += 8, target += 16) {
    const x = finiteHalves(v128.load_ext<i16>(p), bits, factor);
    // What comes out 65536 or more had the largest exponent.
    v128.store(target, v128.or(x, f32x4.ge(f32x4.abs(x), f32x4.splat(65536))));
  }
}

const INFINITY_BITS: i32 = 0x7f800000;
const BITS_OF_65504: i32 = 0x477fe000;
const BITS_OF_SMALLEST_NORMAL: i32 = 0x38800000;
const BITS_OF_HALF: i32 = 0x3f000000;

/** Four f32 to f16 in the low halves of four i32: src/arithmetic/half.ts, `f32ToF16`. */
// @ts-ignore: decorator
@inline
export function floatsToHalves(x: v128): v128 {
  const magnitude = v128.and(x, i32x4.splat(0x7fffffff));
  const odd = v128.and(i32x4.shr_u(magnitude, 13), i32x4.splat(1));
  const rounding = i32x4.add(magnitude, i32x4.splat(0xfff - (112 << 23)));
  const normal = i32x4.shr_u(i32x4.add(rounding, odd), 13);
  const small = i32x4.sub(f32x4.add(magnitude, f32x4.splat(0.5)), i32x4.splat(BITS_OF_HALF));
  let half = v128.bitselect(small, normal, i32x4.lt_s(magnitude, i32x4.splat(BITS_OF_SMALLEST_NORMAL)));
  half = v128.bitselect(i32x4.splat(F16_LARGEST), half, i32x4.ge_s(magnitude, i32x4.splat(BITS_OF_65504)));
  half = v128.or(half, v128.and(i32x4.shr_u(x, 16), i32x4.splat(0x8000)));
  return v128.bitselect(i32x4.splat(0x7e00), half, i32x4.gt_s(magnitude, i32x4.splat(INFINITY_BITS)));
}
