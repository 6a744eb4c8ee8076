// Four rows side by side: in a packed block an octet, a quad of high bits or a group has 4 neighbouring outputs
// together.

/** All ones in the 32-bit lanes of the `count` rows that exist. */
// @ts-ignore: decorator
@inline
export function wordLanes(count: i32): v128 {
  return i32x4.lt_s(i32x4(0, 1, 2, 3), i32x4.splat(count));
}

/** The same for 16 bits a row, and for 8. */
// @ts-ignore: decorator
@inline
export function halfLanes(count: i32): u64 {
  return count == 4 ? ~(<u64>0) : ((<u64>1) << (<u64>count << 4)) - 1;
}

// @ts-ignore: decorator
@inline
export function byteLanes(count: i32): v128 {
  return i32x4.splat(count == 4 ? -1 : (1 << (count << 3)) - 1);
}

/** 16 bytes with a code below 16 each to two words of 8 nibbles, in 32-bit lanes 0 and 2. */
// @ts-ignore: decorator
@inline
function octets(codes: v128): v128 {
  return v128.or(codes, i64x2.shr_u(codes, 28));
}

/** Codes of 16 inputs of four rows, below 16 each, to the two octets at `at` and `at + 64`. */
// @ts-ignore: decorator
@inline
export function storeOctets(at: usize, a: v128, b: v128, c: v128, d: v128, lanes: v128): void {
  const ab = v128.shuffle<i32>(octets(a), octets(b), 0, 2, 4, 6);
  const cd = v128.shuffle<i32>(octets(c), octets(d), 0, 2, 4, 6);
  v128.store(at, v128.and(lanes, v128.shuffle<i32>(ab, cd, 0, 2, 4, 6)));
  v128.store(at, v128.and(lanes, v128.shuffle<i32>(ab, cd, 1, 3, 5, 7)), 64);
}

/** Lane i: all four lanes of row i, or-ed. */
// @ts-ignore: decorator
@inline
export function orLanes(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = v128.or(v128.shuffle<i32>(a, b, 0, 2, 4, 6), v128.shuffle<i32>(a, b, 1, 3, 5, 7));
  const cd = v128.or(v128.shuffle<i32>(c, d, 0, 2, 4, 6), v128.shuffle<i32>(c, d, 1, 3, 5, 7));
  return v128.or(v128.shuffle<i32>(ab, cd, 0, 2, 4, 6), v128.shuffle<i32>(ab, cd, 1, 3, 5, 7));
}

/** The u16 that stands at p in each of four rows. */
// @ts-ignore: decorator
@inline
export function storeHalves(at: usize, p: usize, step1: usize, step2: usize, step3: usize, lanes: u64): void {
  const four =
    <u64>load<u16>(p) |
    (<u64>load<u16>(p + step1) << 16) |
    (<u64>load<u16>(p + step2) << 32) |
    (<u64>load<u16>(p + step3) << 48);
  store<u64>(at, four & lanes);
}

/** 16 bytes of each of four rows to 16 words of 4 bytes, 16 bytes apart. */
// @ts-ignore: decorator
@inline
export function storeByteColumns(at: usize, a: v128, b: v128, c: v128, d: v128, lanes: v128): void {
  const ab0 = interleaveLow(a, b);
  const ab1 = interleaveHigh(a, b);
  const cd0 = interleaveLow(c, d);
  const cd1 = interleaveHigh(c, d);
  storeWords(at, v128.and(lanes, v128.shuffle<i16>(ab0, cd0, 0, 8, 1, 9, 2, 10, 3, 11)));
  storeWords(at + 64, v128.and(lanes, v128.shuffle<i16>(ab0, cd0, 4, 12, 5, 13, 6, 14, 7, 15)));
  storeWords(at + 128, v128.and(lanes, v128.shuffle<i16>(ab1, cd1, 0, 8, 1, 9, 2, 10, 3, 11)));
  storeWords(at + 192, v128.and(lanes, v128.shuffle<i16>(ab1, cd1, 4, 12, 5, 13, 6, 14, 7, 15)));
}

/** 8 bytes of each of four rows to 8 words of 4 bytes, 16 bytes apart. */
// @ts-ignore: decorator
@inline
export function storeByteColumns8(at: usize, a: u64, b: u64, c: u64, d: u64, lanes: v128): void {
  const ab = interleaveLow(i64x2.splat(a), i64x2.splat(b));
  const cd = interleaveLow(i64x2.splat(c), i64x2.splat(d));
  storeWords(at, v128.and(lanes, v128.shuffle<i16>(ab, cd, 0, 8, 1, 9, 2, 10, 3, 11)));
  storeWords(at + 64, v128.and(lanes, v128.shuffle<i16>(ab, cd, 4, 12, 5, 13, 6, 14, 7, 15)));
}

// @ts-ignore: decorator
@inline
function interleaveLow(a: v128, b: v128): v128 {
  return v128.shuffle<i8>(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

// @ts-ignore: decorator
@inline
function interleaveHigh(a: v128, b: v128): v128 {
  return v128.shuffle<i8>(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

// @ts-ignore: decorator
@inline
function storeWords(at: usize, words: v128): void {
  v128.store32_lane(at, words, 0);
  v128.store32_lane(at, words, 1, 16);
  v128.store32_lane(at, words, 2, 32);
  v128.store32_lane(at, words, 3, 48);
}
