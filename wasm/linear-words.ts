import { codes, nibbles } from "./linear-codes";

// Integer products with activations of 16 bits, whose order quantize.ts gives: in a quad, inputs 0, 2, 1, 3.
// A class is a form of codes, for linear-row.ts to be compiled with; it has no instances.

/** A quad of inputs by 4 outputs: `even` has inputs 0 and 2 in all lanes, `odd` 1 and 3. */
// @ts-ignore: decorator
@inline
function dotCodes(bytes: v128, even: v128, odd: v128): v128 {
  return i32x4.add(
    i32x4.dot_i16x8_s(v128.and(bytes, i16x8.splat(255)), even),
    i32x4.dot_i16x8_s(i16x8.shr_u(bytes, 8), odd),
  );
}

// @ts-ignore: decorator
@inline
function dotSigned(bytes: v128, even: v128, odd: v128): v128 {
  return i32x4.add(
    i32x4.dot_i16x8_s(i16x8.shr_s(i16x8.shl(bytes, 8), 8), even),
    i32x4.dot_i16x8_s(i16x8.shr_s(bytes, 8), odd),
  );
}

// @ts-ignore: decorator
@inline
function dotNibbles(v: v128, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
  const mask = i16x8.splat(15);
  return i32x4.add(
    i32x4.add(i32x4.dot_i16x8_s(v128.and(v, mask), x0), i32x4.dot_i16x8_s(v128.and(i16x8.shr_u(v, 8), mask), x1)),
    i32x4.add(i32x4.dot_i16x8_s(v128.and(i16x8.shr_u(v, 4), mask), x2), i32x4.dot_i16x8_s(i16x8.shr_u(v, 12), x3)),
  );
}

/** 4-bit codes. */
// @ts-ignore: decorator
@unmanaged
export class Words4 {
  // @ts-ignore: decorator
  @inline
  inputs(): i32 {
    return 16;
  }
  // @ts-ignore: decorator
  @inline
  splats(): i32 {
    return 8;
  }
  // @ts-ignore: decorator
  @inline
  codeShift(): usize {
    return 1;
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
    return i32x4.add(dotNibbles(v128.load(q), x0, x1, x2, x3), dotNibbles(v128.load(q, 64), x4, x5, x6, x7));
  }
}

/** 5-bit codes: a unit of the high plane has two halves of 16 inputs. */
// @ts-ignore: decorator
@unmanaged
export class Words5 {
  // @ts-ignore: decorator
  @inline
  inputs(): i32 {
    return 32;
  }
  // @ts-ignore: decorator
  @inline
  splats(): i32 {
    return 16;
  }
  // @ts-ignore: decorator
  @inline
  codeShift(): usize {
    return 1;
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
    const a = v128.load(q);
    const b = v128.load(q, 64);
    const high = v128.load(h);
    const quad = 4 * half;
    return i32x4.add(
      i32x4.add(dotCodes(codes(5, a, high, quad), x0, x1), dotCodes(codes(5, a, high, quad + 1), x2, x3)),
      i32x4.add(dotCodes(codes(5, b, high, quad + 2), x4, x5), dotCodes(codes(5, b, high, quad + 3), x6, x7)),
    );
  }
}

/** 6-bit codes. */
// @ts-ignore: decorator
@unmanaged
export class Words6 {
  // @ts-ignore: decorator
  @inline
  inputs(): i32 {
    return 16;
  }
  // @ts-ignore: decorator
  @inline
  splats(): i32 {
    return 8;
  }
  // @ts-ignore: decorator
  @inline
  codeShift(): usize {
    return 1;
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
    const a = v128.load(q);
    const b = v128.load(q, 64);
    const high = v128.load(h);
    return i32x4.add(
      i32x4.add(dotCodes(codes(6, a, high, 0), x0, x1), dotCodes(codes(6, a, high, 1), x2, x3)),
      i32x4.add(dotCodes(codes(6, b, high, 2), x4, x5), dotCodes(codes(6, b, high, 3), x6, x7)),
    );
  }
}

/** 8-bit codes. */
// @ts-ignore: decorator
@unmanaged
export class Words8 {
  // @ts-ignore: decorator
  @inline
  inputs(): i32 {
    return 16;
  }
  // @ts-ignore: decorator
  @inline
  splats(): i32 {
    return 8;
  }
  // @ts-ignore: decorator
  @inline
  codeShift(): usize {
    return 1;
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
    const a = v128.load(q);
    const b = v128.load(q, 64);
    const c = v128.load(h);
    const d = v128.load(h, 64);
    return i32x4.add(
      i32x4.add(dotCodes(codes(8, a, c, 0), x0, x1), dotCodes(codes(8, a, c, 1), x2, x3)),
      i32x4.add(dotCodes(codes(8, b, d, 0), x4, x5), dotCodes(codes(8, b, d, 1), x6, x7)),
    );
  }
}

/** A code book, which stands in `lower`. */
// @ts-ignore: decorator
@unmanaged
export class WordsBook {
  // @ts-ignore: decorator
  @inline
  inputs(): i32 {
    return 16;
  }
  // @ts-ignore: decorator
  @inline
  splats(): i32 {
    return 8;
  }
  // @ts-ignore: decorator
  @inline
  codeShift(): usize {
    return 1;
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
    const a = v128.load(q);
    const b = v128.load(q, 64);
    return i32x4.add(
      i32x4.add(
        dotSigned(i8x16.swizzle(lower, nibbles(a, 0)), x0, x1),
        dotSigned(i8x16.swizzle(lower, nibbles(a, 1)), x2, x3),
      ),
      i32x4.add(
        dotSigned(i8x16.swizzle(lower, nibbles(b, 0)), x4, x5),
        dotSigned(i8x16.swizzle(lower, nibbles(b, 1)), x6, x7),
      ),
    );
  }
}
