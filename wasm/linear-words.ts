import { nibbles } from "./linear-codes";
import { codeBook } from "./linear-matrix";
import { NIBBLE_MASK, Task, UPPER_WORD_MASK, WORD_NIBBLE_MASK } from "./linear-task";

// Planes of codes by activations of 16 bits, whose order quantize.ts gives: in a quad, inputs 0, 2, 1, 3. A kind of
// plane is a class without instances that linear-row.ts is compiled with; a part of it is an octet of inputs by 4
// outputs, and x0 … x3 have its pairs of inputs in all lanes. Sums are 32-bit.

/** Products of v's even bytes, then odd ones, from bit `shift` of each; then those from bit `shift + width`. */
// @ts-ignore: decorator
@inline
function dotBits(v: v128, shift: i32, width: i32, mask: v128, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
  return i32x4.add(
    i32x4.add(
      i32x4.dot_i16x8_s(v128.and(shift ? i16x8.shr_u(v, shift) : v, mask), x0),
      i32x4.dot_i16x8_s(v128.and(i16x8.shr_u(v, shift + 8), mask), x1),
    ),
    i32x4.add(
      i32x4.dot_i16x8_s(v128.and(i16x8.shr_u(v, shift + width), mask), x2),
      i32x4.dot_i16x8_s(
        shift + width + 8 + width == 16
          ? i16x8.shr_u(v, shift + width + 8)
          : v128.and(i16x8.shr_u(v, shift + width + 8), mask),
        x3,
      ),
    ),
  );
}

/** A quad of signed values. */
// @ts-ignore: decorator
@inline
function dotSigned(bytes: v128, even: v128, odd: v128): v128 {
  return i32x4.add(
    i32x4.dot_i16x8_s(i16x8.shr_s(i16x8.shl(bytes, 8), 8), even),
    i32x4.dot_i16x8_s(i16x8.shr_s(bytes, 8), odd),
  );
}

/** Nibbles: 4-bit codes, the lower part of wider ones, and the upper part of 8-bit ones. */
// @ts-ignore: decorator
@unmanaged
export class WordNibbles {
  // @ts-ignore: decorator
  @inline
  words(): bool {
    return true;
  }
  // @ts-ignore: decorator
  @inline
  planeShift(): usize {
    return 3;
  }
  // @ts-ignore: decorator
  @inline
  mask(task: Task): v128 {
    return v128.load(changetype<usize>(task), WORD_NIBBLE_MASK);
  }
  // @ts-ignore: decorator
  @inline
  lower(task: Task): v128 {
    return i32x4.splat(0);
  }
  // @ts-ignore: decorator
  @inline
  upper(task: Task): v128 {
    return i32x4.splat(0);
  }
  // @ts-ignore: decorator
  @inline
  dot(part: i32, q: usize, mask: v128, lower: v128, upper: v128, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
    return dotBits(v128.load(q + (<usize>part << 6)), 0, 4, mask, x0, x1, x2, x3);
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

/** The upper bit of 5-bit codes. */
// @ts-ignore: decorator
@unmanaged
export class WordFifthBits {
  // @ts-ignore: decorator
  @inline
  words(): bool {
    return true;
  }
  // @ts-ignore: decorator
  @inline
  planeShift(): usize {
    return 1;
  }
  // @ts-ignore: decorator
  @inline
  mask(task: Task): v128 {
    return v128.load(changetype<usize>(task), UPPER_WORD_MASK);
  }
  // @ts-ignore: decorator
  @inline
  lower(task: Task): v128 {
    return i32x4.splat(0);
  }
  // @ts-ignore: decorator
  @inline
  upper(task: Task): v128 {
    return i32x4.splat(0);
  }
  // @ts-ignore: decorator
  @inline
  dot(part: i32, q: usize, mask: v128, lower: v128, upper: v128, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
    return dotBits(v128.load(q), 2 * part, 1, mask, x0, x1, x2, x3);
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

/** The two upper bits of 6-bit codes. */
// @ts-ignore: decorator
@unmanaged
export class WordSixthBits {
  // @ts-ignore: decorator
  @inline
  words(): bool {
    return true;
  }
  // @ts-ignore: decorator
  @inline
  planeShift(): usize {
    return 2;
  }
  // @ts-ignore: decorator
  @inline
  mask(task: Task): v128 {
    return v128.load(changetype<usize>(task), UPPER_WORD_MASK);
  }
  // @ts-ignore: decorator
  @inline
  lower(task: Task): v128 {
    return i32x4.splat(0);
  }
  // @ts-ignore: decorator
  @inline
  upper(task: Task): v128 {
    return i32x4.splat(0);
  }
  // @ts-ignore: decorator
  @inline
  dot(part: i32, q: usize, mask: v128, lower: v128, upper: v128, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
    return dotBits(v128.load(q + ((<usize>part >> 1) << 6)), 4 * (part & 1), 2, mask, x0, x1, x2, x3);
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

/** Nibbles that stand for values of a code book. */
// @ts-ignore: decorator
@unmanaged
export class WordBook {
  // @ts-ignore: decorator
  @inline
  words(): bool {
    return true;
  }
  // @ts-ignore: decorator
  @inline
  planeShift(): usize {
    return 3;
  }
  // @ts-ignore: decorator
  @inline
  mask(task: Task): v128 {
    return v128.load(changetype<usize>(task), NIBBLE_MASK);
  }
  // @ts-ignore: decorator
  @inline
  lower(task: Task): v128 {
    return codeBook(task.matrix);
  }
  // @ts-ignore: decorator
  @inline
  upper(task: Task): v128 {
    return i32x4.splat(0);
  }
  // @ts-ignore: decorator
  @inline
  dot(part: i32, q: usize, mask: v128, lower: v128, upper: v128, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
    const low = v128.load(q + (<usize>part << 6));
    return i32x4.add(
      dotSigned(i8x16.swizzle(lower, nibbles(low, 0, mask)), x0, x1),
      dotSigned(i8x16.swizzle(lower, nibbles(low, 1, mask)), x2, x3),
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
