import { bfloatsToFloats4, finiteHalves4 } from "./linear-half";

// Kinds of scales and offsets, read straight from a block: classes without instances, for linear-scale.ts to be
// compiled with. p: 16 values of a group; i: which 4 of them; supers: f32 [16], for values of two levels.

// @ts-ignore: decorator
@unmanaged
export class HalfValues {
  // @ts-ignore: decorator
  @inline
  step(): usize {
    return 32;
  }
  // @ts-ignore: decorator
  @inline
  twoLevel(): bool {
    return false;
  }
  /** f16 bits without their sign, by which infinities and NaN are found: `value` is for finite ones. */
  // @ts-ignore: decorator
  @inline
  largest(known: v128, p: usize): v128 {
    const both = i16x8.max_u(i16x8.shl(v128.load(p), 1), i16x8.shl(v128.load(p, 16), 1));
    return i16x8.max_u(known, both);
  }
  // @ts-ignore: decorator
  @inline
  value(p: usize, i: usize, supers: usize, mask: v128, factor: v128): v128 {
    return finiteHalves4(v128.load_ext<i16>(p + (i << 3)), mask, factor);
  }
}

// @ts-ignore: decorator
@unmanaged
export class BfloatValues {
  // @ts-ignore: decorator
  @inline
  step(): usize {
    return 32;
  }
  // @ts-ignore: decorator
  @inline
  twoLevel(): bool {
    return false;
  }
  // @ts-ignore: decorator
  @inline
  largest(known: v128, p: usize): v128 {
    return known;
  }
  // @ts-ignore: decorator
  @inline
  value(p: usize, i: usize, supers: usize, mask: v128, factor: v128): v128 {
    return bfloatsToFloats4(p + (i << 3));
  }
}

// @ts-ignore: decorator
@unmanaged
export class UnsignedLevels {
  // @ts-ignore: decorator
  @inline
  step(): usize {
    return 16;
  }
  // @ts-ignore: decorator
  @inline
  twoLevel(): bool {
    return true;
  }
  // @ts-ignore: decorator
  @inline
  largest(known: v128, p: usize): v128 {
    return known;
  }
  // @ts-ignore: decorator
  @inline
  value(p: usize, i: usize, supers: usize, mask: v128, factor: v128): v128 {
    const codes = i16x8.extend_low_i8x16_u(v128.load32_zero(p + (i << 2)));
    return f32x4.mul(v128.load(supers + (i << 4)), f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_u(codes)));
  }
}

// @ts-ignore: decorator
@unmanaged
export class SignedLevels {
  // @ts-ignore: decorator
  @inline
  step(): usize {
    return 16;
  }
  // @ts-ignore: decorator
  @inline
  twoLevel(): bool {
    return true;
  }
  // @ts-ignore: decorator
  @inline
  largest(known: v128, p: usize): v128 {
    return known;
  }
  // @ts-ignore: decorator
  @inline
  value(p: usize, i: usize, supers: usize, mask: v128, factor: v128): v128 {
    const codes = i16x8.extend_low_i8x16_s(v128.load32_zero(p + (i << 2)));
    return f32x4.mul(v128.load(supers + (i << 4)), f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(codes)));
  }
}
