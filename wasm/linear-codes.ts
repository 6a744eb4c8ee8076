// Codes of 4 outputs and 4 inputs, one byte each, from 16 bytes of the nibble plane (and of the high plane).
// `quad` counts quads of inputs from the start of the plane's unit: 8 (5-bit), 4 (6-bit) or 2 (otherwise).

// @ts-ignore: decorator
@inline
export function nibbles(v: v128, quad: i32): v128 {
  return v128.and(quad & 1 ? i16x8.shr_u(v, 4) : v, i8x16.splat(15));
}

/** The upper bit of 5-bit codes, worth 16. */
// @ts-ignore: decorator
@inline
export function fifthBits(high: v128, quad: i32): v128 {
  const moved = quad < 4 ? i16x8.shl(high, 4 - quad) : quad == 4 ? high : i16x8.shr_u(high, quad - 4);
  return v128.and(moved, i8x16.splat(16));
}

/** The two upper bits of 6-bit codes, worth 16 and 32. */
// @ts-ignore: decorator
@inline
export function sixthBits(high: v128, quad: i32): v128 {
  const moved = quad == 0 ? i16x8.shl(high, 4) : quad == 1 ? i16x8.shl(high, 2) : quad == 2 ? high : i16x8.shr_u(high, 2);
  return v128.and(moved, i8x16.splat(48));
}

/** The upper nibbles of 8-bit codes, worth 16 to 128. */
// @ts-ignore: decorator
@inline
export function upperNibbles(high: v128, quad: i32): v128 {
  return v128.and(quad & 1 ? high : i16x8.shl(high, 4), i8x16.splat(-16));
}

/** Codes of 4, 5, 6 or 8 bits. `high` is not used for 4. */
// @ts-ignore: decorator
@inline
export function codes(bits: i32, low: v128, high: v128, quad: i32): v128 {
  const nibble = nibbles(low, quad);
  if (bits == 4) return nibble;
  return v128.or(
    nibble,
    bits == 5 ? fifthBits(high, quad) : bits == 6 ? sixthBits(high, quad) : upperNibbles(high, quad),
  );
}

/** Bytes of the high plane for 16 inputs of 16 outputs, and the step to those of the next 16. 5-bit: every second time. */
// @ts-ignore: decorator
@inline
export function highStep(bits: i32): usize {
  return bits == 8 ? 128 : bits == 6 ? 64 : bits == 5 ? 32 : 0;
}
