import { codes, nibbles } from "./linear-codes";

// Integer products with activations of 8 bits by relaxed SIMD, whose second operand may use 7 bits: its answer is then the
// same everywhere. Sums stay in 16 bits as long as they fit: 2 · 127 · (8 · 15, 4 · 31 or 2 · 63) < 2^15.
// A code book's values + 128 are split into nibbles, as 8-bit codes are: two tables. Classes as in linear-words.ts.

// @ts-ignore: decorator
@inline
export function dotBytes(x: v128, weights: v128): v128 {
  return i16x8.relaxed_dot_i8x16_i7x16_s(x, weights);
}

/** 16 inputs by 4 outputs in 16 bits: nibbles only. */
// @ts-ignore: decorator
@inline
function dotNibbles(q: usize, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
  const a = v128.load(q);
  const b = v128.load(q, 64);
  return i16x8.add(
    i16x8.add(dotBytes(x0, nibbles(a, 0)), dotBytes(x1, nibbles(a, 1))),
    i16x8.add(dotBytes(x2, nibbles(b, 0)), dotBytes(x3, nibbles(b, 1))),
  );
}

/** The same through a table. */
// @ts-ignore: decorator
@inline
function dotTable(q: usize, table: v128, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
  const a = v128.load(q);
  const b = v128.load(q, 64);
  return i16x8.add(
    i16x8.add(
      dotBytes(x0, i8x16.relaxed_swizzle(table, nibbles(a, 0))),
      dotBytes(x1, i8x16.relaxed_swizzle(table, nibbles(a, 1))),
    ),
    i16x8.add(
      dotBytes(x2, i8x16.relaxed_swizzle(table, nibbles(b, 0))),
      dotBytes(x3, i8x16.relaxed_swizzle(table, nibbles(b, 1))),
    ),
  );
}

// @ts-ignore: decorator
@inline
function widen(sums: v128): v128 {
  return i32x4.extadd_pairwise_i16x8_s(sums);
}

/** 16 inputs of 5-bit codes: quads 0 to 3 or 4 to 7 of a unit. */
// @ts-ignore: decorator
@inline
function dotFive(quad: i32, q: usize, high: v128, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
  const a = v128.load(q);
  const b = v128.load(q, 64);
  return widen(
    i16x8.add(
      i16x8.add(dotBytes(x0, codes(5, a, high, quad)), dotBytes(x1, codes(5, a, high, quad + 1))),
      i16x8.add(dotBytes(x2, codes(5, b, high, quad + 2)), dotBytes(x3, codes(5, b, high, quad + 3))),
    ),
  );
}

// @ts-ignore: decorator
@inline
function dotSix(q: usize, h: usize, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
  const a = v128.load(q);
  const b = v128.load(q, 64);
  const high = v128.load(h);
  return i32x4.add(
    widen(i16x8.add(dotBytes(x0, codes(6, a, high, 0)), dotBytes(x1, codes(6, a, high, 1)))),
    widen(i16x8.add(dotBytes(x2, codes(6, b, high, 2)), dotBytes(x3, codes(6, b, high, 3)))),
  );
}


/** 4-bit codes. */
// @ts-ignore: decorator
@unmanaged
export class Bytes4 {
  // @ts-ignore: decorator
  @inline
  inputs(): i32 {
    return 32;
  }
  // @ts-ignore: decorator
  @inline
  splats(): i32 {
    return 8;
  }
  // @ts-ignore: decorator
  @inline
  codeShift(): usize {
    return 0;
  }
  // @ts-ignore: decorator
  @inline
  highShift(): usize {
    return 0;
  }
  // @ts-ignore: decorator
  @inline
  dot(
    half: i32,
    q: usize,
    h: usize,
    lower: v128,
    upper: v128,
    x0: v128,
    x1: v128,
    x2: v128,
    x3: v128,
    x4: v128,
    x5: v128,
    x6: v128,
    x7: v128,
  ): v128 {
    return widen(i16x8.add(dotNibbles(q, x0, x1, x2, x3), dotNibbles(q + 128, x4, x5, x6, x7)));
  }
}

/** 4-bit codes whose runs are odd sixteens. */
// @ts-ignore: decorator
@unmanaged
export class ShortBytes4 {
  // @ts-ignore: decorator
  @inline
  inputs(): i32 {
    return 16;
  }
  // @ts-ignore: decorator
  @inline
  splats(): i32 {
    return 4;
  }
  // @ts-ignore: decorator
  @inline
  codeShift(): usize {
    return 0;
  }
  // @ts-ignore: decorator
  @inline
  highShift(): usize {
    return 0;
  }
  // @ts-ignore: decorator
  @inline
  dot(
    half: i32,
    q: usize,
    h: usize,
    lower: v128,
    upper: v128,
    x0: v128,
    x1: v128,
    x2: v128,
    x3: v128,
    x4: v128,
    x5: v128,
    x6: v128,
    x7: v128,
  ): v128 {
    return widen(dotNibbles(q, x0, x1, x2, x3));
  }
}

/** 5-bit codes. */
// @ts-ignore: decorator
@unmanaged
export class Bytes5 {
  // @ts-ignore: decorator
  @inline
  inputs(): i32 {
    return 32;
  }
  // @ts-ignore: decorator
  @inline
  splats(): i32 {
    return 8;
  }
  // @ts-ignore: decorator
  @inline
  codeShift(): usize {
    return 0;
  }
  // @ts-ignore: decorator
  @inline
  highShift(): usize {
    return 1;
  }
  // @ts-ignore: decorator
  @inline
  dot(
    half: i32,
    q: usize,
    h: usize,
    lower: v128,
    upper: v128,
    x0: v128,
    x1: v128,
    x2: v128,
    x3: v128,
    x4: v128,
    x5: v128,
    x6: v128,
    x7: v128,
  ): v128 {
    const high = v128.load(h);
    return i32x4.add(dotFive(0, q, high, x0, x1, x2, x3), dotFive(4, q + 128, high, x4, x5, x6, x7));
  }
}

/** 6-bit codes. */
// @ts-ignore: decorator
@unmanaged
export class Bytes6 {
  // @ts-ignore: decorator
  @inline
  inputs(): i32 {
    return 16;
  }
  // @ts-ignore: decorator
  @inline
  splats(): i32 {
    return 4;
  }
  // @ts-ignore: decorator
  @inline
  codeShift(): usize {
    return 0;
  }
  // @ts-ignore: decorator
  @inline
  highShift(): usize {
    return 2;
  }
  // @ts-ignore: decorator
  @inline
  dot(
    half: i32,
    q: usize,
    h: usize,
    lower: v128,
    upper: v128,
    x0: v128,
    x1: v128,
    x2: v128,
    x3: v128,
    x4: v128,
    x5: v128,
    x6: v128,
    x7: v128,
  ): v128 {
    return dotSix(q, h, x0, x1, x2, x3);
  }
}

/** 8-bit codes. */
// @ts-ignore: decorator
@unmanaged
export class Bytes8 {
  // @ts-ignore: decorator
  @inline
  inputs(): i32 {
    return 32;
  }
  // @ts-ignore: decorator
  @inline
  splats(): i32 {
    return 8;
  }
  // @ts-ignore: decorator
  @inline
  codeShift(): usize {
    return 0;
  }
  // @ts-ignore: decorator
  @inline
  highShift(): usize {
    return 3;
  }
  // @ts-ignore: decorator
  @inline
  dot(
    half: i32,
    q: usize,
    h: usize,
    lower: v128,
    upper: v128,
    x0: v128,
    x1: v128,
    x2: v128,
    x3: v128,
    x4: v128,
    x5: v128,
    x6: v128,
    x7: v128,
  ): v128 {
    return i32x4.add(
      widen(i16x8.add(dotNibbles(q, x0, x1, x2, x3), dotNibbles(q + 128, x4, x5, x6, x7))),
      i32x4.shl(widen(i16x8.add(dotNibbles(h, x0, x1, x2, x3), dotNibbles(h + 128, x4, x5, x6, x7))), 4),
    );
  }
}

/** 8-bit codes whose runs are odd sixteens. */
// @ts-ignore: decorator
@unmanaged
export class ShortBytes8 {
  // @ts-ignore: decorator
  @inline
  inputs(): i32 {
    return 16;
  }
  // @ts-ignore: decorator
  @inline
  splats(): i32 {
    return 4;
  }
  // @ts-ignore: decorator
  @inline
  codeShift(): usize {
    return 0;
  }
  // @ts-ignore: decorator
  @inline
  highShift(): usize {
    return 3;
  }
  // @ts-ignore: decorator
  @inline
  dot(
    half: i32,
    q: usize,
    h: usize,
    lower: v128,
    upper: v128,
    x0: v128,
    x1: v128,
    x2: v128,
    x3: v128,
    x4: v128,
    x5: v128,
    x6: v128,
    x7: v128,
  ): v128 {
    return i32x4.add(widen(dotNibbles(q, x0, x1, x2, x3)), i32x4.shl(widen(dotNibbles(h, x0, x1, x2, x3)), 4));
  }
}

/** A code book. */
// @ts-ignore: decorator
@unmanaged
export class BytesBook {
  // @ts-ignore: decorator
  @inline
  inputs(): i32 {
    return 32;
  }
  // @ts-ignore: decorator
  @inline
  splats(): i32 {
    return 8;
  }
  // @ts-ignore: decorator
  @inline
  codeShift(): usize {
    return 0;
  }
  // @ts-ignore: decorator
  @inline
  highShift(): usize {
    return 0;
  }
  // @ts-ignore: decorator
  @inline
  dot(
    half: i32,
    q: usize,
    h: usize,
    lower: v128,
    upper: v128,
    x0: v128,
    x1: v128,
    x2: v128,
    x3: v128,
    x4: v128,
    x5: v128,
    x6: v128,
    x7: v128,
  ): v128 {
    return i32x4.add(
      widen(i16x8.add(dotTable(q, lower, x0, x1, x2, x3), dotTable(q + 128, lower, x4, x5, x6, x7))),
      i32x4.shl(widen(i16x8.add(dotTable(q, upper, x0, x1, x2, x3), dotTable(q + 128, upper, x4, x5, x6, x7))), 4),
    );
  }
}

/** A code book whose runs are odd sixteens. */
// @ts-ignore: decorator
@unmanaged
export class ShortBytesBook {
  // @ts-ignore: decorator
  @inline
  inputs(): i32 {
    return 16;
  }
  // @ts-ignore: decorator
  @inline
  splats(): i32 {
    return 4;
  }
  // @ts-ignore: decorator
  @inline
  codeShift(): usize {
    return 0;
  }
  // @ts-ignore: decorator
  @inline
  highShift(): usize {
    return 0;
  }
  // @ts-ignore: decorator
  @inline
  dot(
    half: i32,
    q: usize,
    h: usize,
    lower: v128,
    upper: v128,
    x0: v128,
    x1: v128,
    x2: v128,
    x3: v128,
    x4: v128,
    x5: v128,
    x6: v128,
    x7: v128,
  ): v128 {
    return i32x4.add(
      widen(dotTable(q, lower, x0, x1, x2, x3)),
      i32x4.shl(widen(dotTable(q, upper, x0, x1, x2, x3)), 4),
    );
  }
}
