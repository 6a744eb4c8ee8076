import { codes5, codes6, codes8, nibbles } from "./linear-codes";
import { codeBook } from "./linear-matrix";
import { HIGH_MASK, NIBBLE_MASK, Task, WORD_BYTE_MASK, WORD_NIBBLE_MASK } from "./linear-task";

// Forms of codes by activations of 16 bits, whose order quantize.ts gives: in a quad, inputs 0, 2, 1, 3. A form is a class
// without instances that linear-row.ts is compiled with; a part of it is an octet of inputs by 4 outputs, and x0 … x3 have
// its pairs of inputs in all lanes. The sums of a form's parts are 32-bit.

/** A quad of inputs by 4 outputs. */
// @ts-ignore: decorator
@inline
function dotCodes(bytes: v128, byteMask: v128, even: v128, odd: v128): v128 {
  return i32x4.add(
    i32x4.dot_i16x8_s(v128.and(bytes, byteMask), even),
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

/** 4-bit codes. */
// @ts-ignore: decorator
@unmanaged
export class Words4 {
  // @ts-ignore: decorator
  @inline
  words(): bool {
    return true;
  }
  // @ts-ignore: decorator
  @inline
  highShift(): usize {
    return 0;
  }
  // @ts-ignore: decorator
  @inline
  mask(task: Task): v128 {
    return v128.load(changetype<usize>(task), WORD_NIBBLE_MASK);
  }
  // @ts-ignore: decorator
  @inline
  first(task: Task): v128 {
    return i32x4.splat(0);
  }
  // @ts-ignore: decorator
  @inline
  second(task: Task): v128 {
    return i32x4.splat(0);
  }
  // @ts-ignore: decorator
  @inline
  dot(part: i32, q: usize, h: usize, mask: v128, a: v128, b: v128, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
    const v = v128.load(q);
    return i32x4.add(
      i32x4.add(
        i32x4.dot_i16x8_s(v128.and(v, mask), x0),
        i32x4.dot_i16x8_s(v128.and(i16x8.shr_u(v, 8), mask), x1),
      ),
      i32x4.add(
        i32x4.dot_i16x8_s(v128.and(i16x8.shr_u(v, 4), mask), x2),
        i32x4.dot_i16x8_s(i16x8.shr_u(v, 12), x3),
      ),
    );
  }
  // @ts-ignore: decorator
  @inline
  add(a: v128, b: v128): v128 {
    return i32x4.add(a, b);
  }
  // @ts-ignore: decorator
  @inline
  widen(sums: v128): v128 {
    return sums;
  }
}

/** 5-bit codes. */
// @ts-ignore: decorator
@unmanaged
export class Words5 {
  // @ts-ignore: decorator
  @inline
  words(): bool {
    return true;
  }
  // @ts-ignore: decorator
  @inline
  highShift(): usize {
    return 1;
  }
  // @ts-ignore: decorator
  @inline
  mask(task: Task): v128 {
    return v128.load(changetype<usize>(task), NIBBLE_MASK);
  }
  // @ts-ignore: decorator
  @inline
  first(task: Task): v128 {
    return v128.load(changetype<usize>(task), HIGH_MASK);
  }
  // @ts-ignore: decorator
  @inline
  second(task: Task): v128 {
    return v128.load(changetype<usize>(task), WORD_BYTE_MASK);
  }
  // @ts-ignore: decorator
  @inline
  dot(part: i32, q: usize, h: usize, mask: v128, a: v128, b: v128, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
    const low = v128.load(q);
    const high = v128.load(h);
    return i32x4.add(
      dotCodes(codes5(low, high, 2 * part, mask, a), b, x0, x1),
      dotCodes(codes5(low, high, 2 * part + 1, mask, a), b, x2, x3),
    );
  }
  // @ts-ignore: decorator
  @inline
  add(a: v128, b: v128): v128 {
    return i32x4.add(a, b);
  }
  // @ts-ignore: decorator
  @inline
  widen(sums: v128): v128 {
    return sums;
  }
}

/** 6-bit codes. */
// @ts-ignore: decorator
@unmanaged
export class Words6 {
  // @ts-ignore: decorator
  @inline
  words(): bool {
    return true;
  }
  // @ts-ignore: decorator
  @inline
  highShift(): usize {
    return 2;
  }
  // @ts-ignore: decorator
  @inline
  mask(task: Task): v128 {
    return v128.load(changetype<usize>(task), NIBBLE_MASK);
  }
  // @ts-ignore: decorator
  @inline
  first(task: Task): v128 {
    return v128.load(changetype<usize>(task), HIGH_MASK);
  }
  // @ts-ignore: decorator
  @inline
  second(task: Task): v128 {
    return v128.load(changetype<usize>(task), WORD_BYTE_MASK);
  }
  // @ts-ignore: decorator
  @inline
  dot(part: i32, q: usize, h: usize, mask: v128, a: v128, b: v128, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
    const low = v128.load(q);
    const high = v128.load(h + ((<usize>part >> 1) << 6));
    return i32x4.add(
      dotCodes(codes6(low, high, 2 * (part & 1), mask, a), b, x0, x1),
      dotCodes(codes6(low, high, 2 * (part & 1) + 1, mask, a), b, x2, x3),
    );
  }
  // @ts-ignore: decorator
  @inline
  add(a: v128, b: v128): v128 {
    return i32x4.add(a, b);
  }
  // @ts-ignore: decorator
  @inline
  widen(sums: v128): v128 {
    return sums;
  }
}

/** 8-bit codes. */
// @ts-ignore: decorator
@unmanaged
export class Words8 {
  // @ts-ignore: decorator
  @inline
  words(): bool {
    return true;
  }
  // @ts-ignore: decorator
  @inline
  highShift(): usize {
    return 3;
  }
  // @ts-ignore: decorator
  @inline
  mask(task: Task): v128 {
    return v128.load(changetype<usize>(task), NIBBLE_MASK);
  }
  // @ts-ignore: decorator
  @inline
  first(task: Task): v128 {
    return v128.load(changetype<usize>(task), HIGH_MASK);
  }
  // @ts-ignore: decorator
  @inline
  second(task: Task): v128 {
    return v128.load(changetype<usize>(task), WORD_BYTE_MASK);
  }
  // @ts-ignore: decorator
  @inline
  dot(part: i32, q: usize, h: usize, mask: v128, a: v128, b: v128, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
    const low = v128.load(q);
    const high = v128.load(h + (<usize>part << 6));
    return i32x4.add(
      dotCodes(codes8(low, high, 0, mask, a), b, x0, x1),
      dotCodes(codes8(low, high, 1, mask, a), b, x2, x3),
    );
  }
  // @ts-ignore: decorator
  @inline
  add(a: v128, b: v128): v128 {
    return i32x4.add(a, b);
  }
  // @ts-ignore: decorator
  @inline
  widen(sums: v128): v128 {
    return sums;
  }
}

/** A code book. */
// @ts-ignore: decorator
@unmanaged
export class WordsBook {
  // @ts-ignore: decorator
  @inline
  words(): bool {
    return true;
  }
  // @ts-ignore: decorator
  @inline
  highShift(): usize {
    return 0;
  }
  // @ts-ignore: decorator
  @inline
  mask(task: Task): v128 {
    return v128.load(changetype<usize>(task), NIBBLE_MASK);
  }
  // @ts-ignore: decorator
  @inline
  first(task: Task): v128 {
    return codeBook(task.matrix);
  }
  // @ts-ignore: decorator
  @inline
  second(task: Task): v128 {
    return i32x4.splat(0);
  }
  // @ts-ignore: decorator
  @inline
  dot(part: i32, q: usize, h: usize, mask: v128, a: v128, b: v128, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
    const low = v128.load(q);
    return i32x4.add(
      dotSigned(i8x16.swizzle(a, nibbles(low, 0, mask)), x0, x1),
      dotSigned(i8x16.swizzle(a, nibbles(low, 1, mask)), x2, x3),
    );
  }
  // @ts-ignore: decorator
  @inline
  add(a: v128, b: v128): v128 {
    return i32x4.add(a, b);
  }
  // @ts-ignore: decorator
  @inline
  widen(sums: v128): v128 {
    return sums;
  }
}
