// Codes of 4 outputs and 4 inputs, one byte each, from 16 bytes of the nibble plane (and of the high plane).
// `quad` counts quads of inputs from the start of the plane's unit: 8 (5-bit), 4 (6-bit) or 2 (otherwise).
// `mask` is 15 in all bytes, `highMask` the bits above.

// @ts-ignore: decorator
@inline
export function nibbles(v: v128, quad: i32, mask: v128): v128 {
  return v128.and(quad & 1 ? i16x8.shr_u(v, 4) : v, mask);
}

/** 5-bit codes. */
// @ts-ignore: decorator
@inline
export function codes5(low: v128, high: v128, quad: i32, mask: v128, highMask: v128): v128 {
  const moved = quad < 4 ? i16x8.shl(high, 4 - quad) : quad == 4 ? high : i16x8.shr_u(high, quad - 4);
  return v128.or(nibbles(low, quad, mask), v128.and(moved, highMask));
}

/** 6-bit codes. */
// @ts-ignore: decorator
@inline
export function codes6(low: v128, high: v128, quad: i32, mask: v128, highMask: v128): v128 {
  const moved =
    quad == 0 ? i16x8.shl(high, 4) : quad == 1 ? i16x8.shl(high, 2) : quad == 2 ? high : i16x8.shr_u(high, 2);
  return v128.or(nibbles(low, quad, mask), v128.and(moved, highMask));
}

/** 8-bit codes. */
// @ts-ignore: decorator
@inline
export function codes8(low: v128, high: v128, quad: i32, mask: v128, highMask: v128): v128 {
  return v128.or(nibbles(low, quad, mask), v128.and(quad & 1 ? high : i16x8.shl(high, 4), highMask));
}

/** The bits that codes of a width have above a nibble, in all bytes. */
// @ts-ignore: decorator
@inline
export function highMaskOf(bits: i32): v128 {
  return i8x16.splat(<i8>(bits == 5 ? 16 : bits == 6 ? 48 : 240));
}

/** Lower and upper nibbles of a code book's values + 128. */
// @ts-ignore: decorator
@inline
export function lowerTable(book: v128): v128 {
  return v128.and(book, i8x16.splat(15));
}

// @ts-ignore: decorator
@inline
export function upperTable(book: v128): v128 {
  return i8x16.shr_u(v128.xor(book, i8x16.splat(-128)), 4);
}
