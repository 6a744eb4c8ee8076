import { lowerTable, nibbles, upperTable } from "./linear-codes";
import { codeBook } from "./linear-matrix";
import { NIBBLE_MASK, Task, UPPER_MASK } from "./linear-task";

// Planes of codes by activations of 8 bits, as in linear-words.ts, by relaxed SIMD, whose second operand may use 7
// bits: its answer is then the same everywhere. A part is 16 inputs. Sums of 32 inputs stay in 16 bits: 2 · 127 · 15 ·
// 8 < 2^15.

// @ts-ignore: decorator
@inline
export function dotBytes(x: v128, weights: v128): v128 {
  return i16x8.relaxed_dot_i8x16_i7x16_s(x, weights);
}

// @ts-ignore: decorator
@inline
function widen(sums: v128): v128 {
  return i32x4.extadd_pairwise_i16x8_s(sums);
}

/** Four quads' bits `shift`, `shift + width` … of each byte. */
// @ts-ignore: decorator
@inline
function dotBits(v: v128, shift: i32, width: i32, mask: v128, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
  return i16x8.add(
    i16x8.add(
      dotBytes(x0, v128.and(shift ? i16x8.shr_u(v, shift) : v, mask)),
      dotBytes(x1, v128.and(i16x8.shr_u(v, shift + width), mask)),
    ),
    i16x8.add(
      dotBytes(x2, v128.and(i16x8.shr_u(v, shift + 2 * width), mask)),
      dotBytes(x3, v128.and(i16x8.shr_u(v, shift + 3 * width), mask)),
    ),
  );
}

/** Four quads' nibbles, through a table. */
// @ts-ignore: decorator
@inline
function dotTable(low: v128, high: v128, mask: v128, table: v128, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
  return i16x8.add(
    i16x8.add(
      dotBytes(x0, i8x16.relaxed_swizzle(table, nibbles(low, 0, mask))),
      dotBytes(x1, i8x16.relaxed_swizzle(table, nibbles(low, 1, mask))),
    ),
    i16x8.add(
      dotBytes(x2, i8x16.relaxed_swizzle(table, nibbles(high, 0, mask))),
      dotBytes(x3, i8x16.relaxed_swizzle(table, nibbles(high, 1, mask))),
    ),
  );
}

/** Nibbles: 4-bit codes, the lower part of wider ones, and the upper part of 8-bit ones. */
// @ts-ignore: decorator
@unmanaged
export class ByteNibbles {
  // @ts-ignore: decorator
  @inline
  words(): bool {
    return false;
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
    q += <usize>part << 7;
    const low = v128.load(q);
    const high = v128.load(q, 64);
    return i16x8.add(
      i16x8.add(dotBytes(x0, nibbles(low, 0, mask)), dotBytes(x1, nibbles(low, 1, mask))),
      i16x8.add(dotBytes(x2, nibbles(high, 0, mask)), dotBytes(x3, nibbles(high, 1, mask))),
    );
  }
  // @ts-ignore: decorator
  @inline
  add(a: v128, b: v128): v128 {
    return i16x8.add(a, b);
  }
  // @ts-ignore: decorator
  @inline
  widen(sums: v128): v128 {
    return i32x4.extadd_pairwise_i16x8_s(sums);
  }
}

/** The upper bit of 5-bit codes. */
// @ts-ignore: decorator
@unmanaged
export class ByteFifthBits {
  // @ts-ignore: decorator
  @inline
  words(): bool {
    return false;
  }
  // @ts-ignore: decorator
  @inline
  planeShift(): usize {
    return 1;
  }
  // @ts-ignore: decorator
  @inline
  mask(task: Task): v128 {
    return v128.load(changetype<usize>(task), UPPER_MASK);
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
    return dotBits(v128.load(q), 4 * part, 1, mask, x0, x1, x2, x3);
  }
  // @ts-ignore: decorator
  @inline
  add(a: v128, b: v128): v128 {
    return i16x8.add(a, b);
  }
  // @ts-ignore: decorator
  @inline
  widen(sums: v128): v128 {
    return i32x4.extadd_pairwise_i16x8_s(sums);
  }
}

/** The two upper bits of 6-bit codes. */
// @ts-ignore: decorator
@unmanaged
export class ByteSixthBits {
  // @ts-ignore: decorator
  @inline
  words(): bool {
    return false;
  }
  // @ts-ignore: decorator
  @inline
  planeShift(): usize {
    return 2;
  }
  // @ts-ignore: decorator
  @inline
  mask(task: Task): v128 {
    return v128.load(changetype<usize>(task), UPPER_MASK);
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
    return dotBits(v128.load(q + (<usize>part << 6)), 0, 2, mask, x0, x1, x2, x3);
  }
  // @ts-ignore: decorator
  @inline
  add(a: v128, b: v128): v128 {
    return i16x8.add(a, b);
  }
  // @ts-ignore: decorator
  @inline
  widen(sums: v128): v128 {
    return i32x4.extadd_pairwise_i16x8_s(sums);
  }
}

/**
 * Nibbles that stand for values of a code book: of the values + 128, lower and upper nibbles come from a table each.
 */
// @ts-ignore: decorator
@unmanaged
export class ByteBook {
  // @ts-ignore: decorator
  @inline
  words(): bool {
    return false;
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
    return lowerTable(codeBook(task.matrix));
  }
  // @ts-ignore: decorator
  @inline
  upper(task: Task): v128 {
    return upperTable(codeBook(task.matrix));
  }
  // @ts-ignore: decorator
  @inline
  dot(part: i32, q: usize, mask: v128, lower: v128, upper: v128, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
    q += <usize>part << 7;
    const low = v128.load(q);
    const high = v128.load(q, 64);
    return i32x4.add(
      widen(dotTable(low, high, mask, lower, x0, x1, x2, x3)),
      i32x4.shl(widen(dotTable(low, high, mask, upper, x0, x1, x2, x3)), 4),
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
