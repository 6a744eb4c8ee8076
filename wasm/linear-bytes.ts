import { codes5, codes6, lowerTable, nibbles, upperTable } from "./linear-codes";
import { codeBook } from "./linear-matrix";
import { HIGH_MASK, NIBBLE_MASK, Task } from "./linear-task";

// Forms of codes by activations of 8 bits, as in linear-words.ts, by relaxed SIMD, whose second operand may use 7 bits: its
// answer is then the same everywhere. A part is 16 inputs. Sums stay in 16 bits as long as they fit:
// 2 · 127 · (8 quads · 15, 4 · 31 or 2 · 63) < 2^15.

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

/** 16-bit sums of four quads' nibbles. */
// @ts-ignore: decorator
@inline
function dotNibbles(q: usize, mask: v128, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
  const low = v128.load(q);
  const high = v128.load(q, 64);
  return i16x8.add(
    i16x8.add(dotBytes(x0, nibbles(low, 0, mask)), dotBytes(x1, nibbles(low, 1, mask))),
    i16x8.add(dotBytes(x2, nibbles(high, 0, mask)), dotBytes(x3, nibbles(high, 1, mask))),
  );
}

/** The same through a table. */
// @ts-ignore: decorator
@inline
function dotTable(q: usize, mask: v128, table: v128, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
  const low = v128.load(q);
  const high = v128.load(q, 64);
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

/** 4-bit codes. */
// @ts-ignore: decorator
@unmanaged
export class Bytes4 {
  // @ts-ignore: decorator
  @inline
  words(): bool {
    return false;
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
    return dotNibbles(q, mask, x0, x1, x2, x3);
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

/** 5-bit codes. */
// @ts-ignore: decorator
@unmanaged
export class Bytes5 {
  // @ts-ignore: decorator
  @inline
  words(): bool {
    return false;
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
    return i32x4.splat(0);
  }
  // @ts-ignore: decorator
  @inline
  dot(part: i32, q: usize, h: usize, mask: v128, a: v128, b: v128, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
    const low = v128.load(q);
    const next = v128.load(q, 64);
    const high = v128.load(h);
    const quad = 4 * part;
    return widen(
      i16x8.add(
        i16x8.add(
          dotBytes(x0, codes5(low, high, quad, mask, a)),
          dotBytes(x1, codes5(low, high, quad + 1, mask, a)),
        ),
        i16x8.add(
          dotBytes(x2, codes5(next, high, quad + 2, mask, a)),
          dotBytes(x3, codes5(next, high, quad + 3, mask, a)),
        ),
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

/** 6-bit codes. */
// @ts-ignore: decorator
@unmanaged
export class Bytes6 {
  // @ts-ignore: decorator
  @inline
  words(): bool {
    return false;
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
    return i32x4.splat(0);
  }
  // @ts-ignore: decorator
  @inline
  dot(part: i32, q: usize, h: usize, mask: v128, a: v128, b: v128, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
    const low = v128.load(q);
    const next = v128.load(q, 64);
    const high = v128.load(h + (<usize>part << 6));
    return i32x4.add(
      widen(i16x8.add(dotBytes(x0, codes6(low, high, 0, mask, a)), dotBytes(x1, codes6(low, high, 1, mask, a)))),
      widen(i16x8.add(dotBytes(x2, codes6(next, high, 2, mask, a)), dotBytes(x3, codes6(next, high, 3, mask, a)))),
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

/** 8-bit codes, in two planes of nibbles. */
// @ts-ignore: decorator
@unmanaged
export class Bytes8 {
  // @ts-ignore: decorator
  @inline
  words(): bool {
    return false;
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
    return i32x4.add(
      widen(dotNibbles(q, mask, x0, x1, x2, x3)),
      i32x4.shl(widen(dotNibbles(h + (<usize>part << 7), mask, x0, x1, x2, x3)), 4),
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

/** A code book, whose values + 128 are split into nibbles as 8-bit codes are: two tables. */
// @ts-ignore: decorator
@unmanaged
export class BytesBook {
  // @ts-ignore: decorator
  @inline
  words(): bool {
    return false;
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
    return lowerTable(codeBook(task.matrix));
  }
  // @ts-ignore: decorator
  @inline
  second(task: Task): v128 {
    return upperTable(codeBook(task.matrix));
  }
  // @ts-ignore: decorator
  @inline
  dot(part: i32, q: usize, h: usize, mask: v128, a: v128, b: v128, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
    return i32x4.add(
      widen(dotTable(q, mask, a, x0, x1, x2, x3)),
      i32x4.shl(widen(dotTable(q, mask, b, x0, x1, x2, x3)), 4),
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
