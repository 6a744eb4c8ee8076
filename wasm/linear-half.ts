/** f16 and f32 exponents are biased by 15 and 127: bits moved into place are 2^112 times too small. */
const BIAS_FACTOR: f32 = 5.192296858534828e33;

/** Four f16, in the low halves of i32 lanes that are sign-extended, to f32: exact, with infinities and NaN. */
// @ts-ignore: decorator
@inline
export function halvesToFloats4(halves: v128): v128 {
  const moved = i32x4.shl(halves, 13);
  const magnitude = v128.and(moved, i32x4.splat(0x0fffe000));
  const special = v128.and(i32x4.gt_s(magnitude, i32x4.splat(0x0f7fe000)), i32x4.splat(0x7f800000));
  const finite = f32x4.mul(v128.and(moved, i32x4.splat(0x8fffe000)), f32x4.splat(BIAS_FACTOR));
  return v128.or(finite, special);
}

/** Four bf16 at p to f32. */
// @ts-ignore: decorator
@inline
export function bfloatsToFloats4(p: usize): v128 {
  return i32x4.shl(v128.load_ext<u16>(p), 16);
}

/** Four numbers of a float kind at p to f32. */
// @ts-ignore: decorator
@inline
export function floats4(kind: i32, p: usize): v128 {
  return kind == 0 ? v128.load(p) : kind == 1 ? halvesToFloats4(v128.load_ext<i16>(p)) : bfloatsToFloats4(p);
}
