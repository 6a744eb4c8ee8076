/** f16 and f32 exponents are biased by 15 and 127: bits moved into place are 2^112 times too small. */
export const BIAS_FACTOR: f32 = 5.192296858534828e33;
/** Sign, exponent and mantissa of an f16 that was sign-extended to 32 bits and moved up by 13. */
export const MOVED_MASK: i32 = 0x8fffe000;

/** Four f16, in the low halves of i32 lanes that are sign-extended, to f32: exact, with infinities and NaN. */
// @ts-ignore: decorator
@inline
export function halvesToFloats4(halves: v128): v128 {
  const moved = i32x4.shl(halves, 13);
  const magnitude = v128.and(moved, i32x4.splat(0x0fffe000));
  const special = v128.and(i32x4.gt_s(magnitude, i32x4.splat(0x0f7fe000)), i32x4.splat(0x7f800000));
  return v128.or(finiteHalves4(halves, i32x4.splat(MOVED_MASK), f32x4.splat(BIAS_FACTOR)), special);
}

/** The same for finite f16; mask and factor are the constants above in all lanes. */
// @ts-ignore: decorator
@inline
export function finiteHalves4(halves: v128, mask: v128, factor: v128): v128 {
  return f32x4.mul(v128.and(i32x4.shl(halves, 13), mask), factor);
}

/** Four bf16 at p to f32. */
// @ts-ignore: decorator
@inline
export function bfloatsToFloats4(p: usize): v128 {
  return i32x4.shl(v128.load_ext<u16>(p), 16);
}
