import { Matrix } from "./linear-matrix";
import {
  byteLanes,
  halfLanes,
  orLanes,
  storeByteColumns,
  storeByteColumns8,
  storeHalves,
  storeOctets,
  wordLanes,
} from "./pack-rows";

// Rows c … c + count − 1 of a block; rows that do not exist are read as the first and masked away. A super block has
// 256 inputs: src/formats/ggml/k-quants.ts says what stands where in it.

export function packQ4_K(source: usize, rowBytes: usize, count: i32, block: usize, c: i32, matrix: Matrix): void {
  const step1: usize = count > 1 ? rowBytes : 0;
  const step2: usize = count > 2 ? rowBytes << 1 : 0;
  const step3: usize = count > 3 ? 3 * rowBytes : 0;
  const lanes = wordLanes(count);
  let at = block + (<usize>c << 2);
  const end = source + rowBytes;
  for (let p = source, s = 0; p < end; p += 144, s++) {
    scalesAndMins(p, step1, step2, step3, s, block, c, count, matrix);
    nibbleParts(p + 16, step1, step2, step3, at, lanes);
    at += 2048;
  }
}

export function packQ5_K(source: usize, rowBytes: usize, count: i32, block: usize, c: i32, matrix: Matrix): void {
  const step1: usize = count > 1 ? rowBytes : 0;
  const step2: usize = count > 2 ? rowBytes << 1 : 0;
  const step3: usize = count > 3 ? 3 * rowBytes : 0;
  const lanes = wordLanes(count);
  let at = block + (<usize>c << 2);
  let highAt = at + matrix.highAt;
  const end = source + rowBytes;
  for (let p = source, s = 0; p < end; p += 176, s++) {
    scalesAndMins(p, step1, step2, step3, s, block, c, count, matrix);
    nibbleParts(p + 48, step1, step2, step3, at, lanes);
    at += 2048;
    for (let part = 0; part < 8; part++) {
      const a = fifthBits(p + 16, part);
      const b = fifthBits(p + step1 + 16, part);
      const d = fifthBits(p + step2 + 16, part);
      const e = fifthBits(p + step3 + 16, part);
      v128.store(highAt, v128.and(lanes, orLanes(a, b, d, e)));
      highAt += 64;
    }
  }
}

/** Bit `part` of 32 bytes: in lane i, inputs 4i … and 16 + 4i …, at bits i and 4 + i of their bytes. */
// @ts-ignore: decorator
@inline
function fifthBits(p: usize, part: i32): v128 {
  const one = i8x16.splat(1);
  const place = i16x8(1, 1, 2, 2, 4, 4, 8, 8);
  const low = v128.and(i16x8.shr_u(v128.load(p), part), one);
  const high = v128.and(i16x8.shr_u(v128.load(p, 16), part), one);
  return i16x8.mul(v128.or(low, i16x8.shl(high, 4)), place);
}

export function packQ6_K(source: usize, rowBytes: usize, count: i32, block: usize, c: i32, matrix: Matrix): void {
  const step1: usize = count > 1 ? rowBytes : 0;
  const step2: usize = count > 2 ? rowBytes << 1 : 0;
  const step3: usize = count > 3 ? 3 * rowBytes : 0;
  const lanes = wordLanes(count);
  const halves = halfLanes(count);
  const bytes = byteLanes(count);
  const mask = i8x16.splat(15);
  let at = block + (<usize>c << 2);
  let highAt = at + matrix.highAt;
  let superAt = block + matrix.superScaleAt + (<usize>c << 1);
  let scaleAt = block + matrix.scaleAt + <usize>c;
  const end = source + rowBytes;
  for (let p = source; p < end; p += 210) {
    storeHalves(superAt, p + 208, step1, step2, step3, halves);
    superAt += 32;
    const q = p + 192;
    storeByteColumns(scaleAt, v128.load(q), v128.load(q + step1), v128.load(q + step2), v128.load(q + step3), bytes);
    scaleAt += 256;
    // Each half: 64 bytes of nibbles, whose high ones belong to the second 64 of 128 inputs, and 32 bytes of upper
    // bits.
    for (let half: usize = 0; half < 2; half++) {
      for (let i: usize = 0; i < 4; i++) {
        const n = p + (half << 6) + (i << 4);
        const a = v128.load(n);
        const b = v128.load(n + step1);
        const d = v128.load(n + step2);
        const e = v128.load(n + step3);
        const to = at + (i << 7);
        storeOctets(to, v128.and(a, mask), v128.and(b, mask), v128.and(d, mask), v128.and(e, mask), lanes);
        storeOctets(to + 512, i8x16.shr_u(a, 4), i8x16.shr_u(b, 4), i8x16.shr_u(d, 4), i8x16.shr_u(e, 4), lanes);
      }
      at += 1024;
      for (let i: usize = 0; i < 8; i++) {
        const n = p + 128 + (half << 5) + ((i & 1) << 4);
        const shift = <i32>(i & 6);
        const a = upperBits(n, shift);
        const b = upperBits(n + step1, shift);
        const d = upperBits(n + step2, shift);
        const e = upperBits(n + step3, shift);
        v128.store(highAt, v128.and(lanes, orLanes(a, b, d, e)));
        highAt += 64;
      }
    }
  }
}

/** Bits shift and shift + 1 of 16 bytes: in lane i, inputs 4i …, at bits 2i and 2i + 1 of their bytes. */
// @ts-ignore: decorator
@inline
function upperBits(p: usize, shift: i32): v128 {
  const place = i16x8(1, 1, 4, 4, 16, 16, 64, 64);
  return i16x8.mul(v128.and(i16x8.shr_u(v128.load(p), shift), i8x16.splat(3)), place);
}

/** 128 bytes of nibbles, in 4 parts of 32 whose low ones are inputs 0 to 31 of 64 and whose high ones the rest. */
// @ts-ignore: decorator
@inline
function nibbleParts(p: usize, step1: usize, step2: usize, step3: usize, at: usize, lanes: v128): void {
  const mask = i8x16.splat(15);
  for (let part = 0; part < 4; part++) {
    for (let half: usize = 0; half < 2; half++) {
      const a = v128.load(p);
      const b = v128.load(p + step1);
      const d = v128.load(p + step2);
      const e = v128.load(p + step3);
      const to = at + (half << 7);
      storeOctets(to, v128.and(a, mask), v128.and(b, mask), v128.and(d, mask), v128.and(e, mask), lanes);
      storeOctets(to + 256, i8x16.shr_u(a, 4), i8x16.shr_u(b, 4), i8x16.shr_u(d, 4), i8x16.shr_u(e, 4), lanes);
      p += 16;
    }
    at += 512;
  }
}

/** d and dmin, and 8 scales and mins of 6 bits, of super block s. */
function scalesAndMins(
  p: usize,
  step1: usize,
  step2: usize,
  step3: usize,
  s: i32,
  block: usize,
  c: i32,
  count: i32,
  matrix: Matrix,
): void {
  const halves = halfLanes(count);
  const bytes = byteLanes(count);
  const pair = (<usize>s << 5) + (<usize>c << 1);
  storeHalves(block + matrix.superScaleAt + pair, p, step1, step2, step3, halves);
  storeHalves(block + matrix.superOffsetAt + pair, p + 2, step1, step2, step3, halves);
  const q = p + 4;
  const column = (<usize>s << 7) + <usize>c;
  storeByteColumns8(
    block + matrix.scaleAt + column,
    sixBits(q, q + 8, 0),
    sixBits(q + step1, q + step1 + 8, 0),
    sixBits(q + step2, q + step2 + 8, 0),
    sixBits(q + step3, q + step3 + 8, 0),
    bytes,
  );
  storeByteColumns8(
    block + matrix.offsetAt + column,
    sixBits(q + 4, q + 8, 4),
    sixBits(q + step1 + 4, q + step1 + 8, 4),
    sixBits(q + step2 + 4, q + step2 + 8, 4),
    sixBits(q + step3 + 4, q + step3 + 8, 4),
    bytes,
  );
}

/**
 * 8 numbers: of the first four the low 6 bits of 4 bytes; of the last four nibbles from `rest`, and atop those bytes.
 */
// @ts-ignore: decorator
@inline
function sixBits(first: usize, rest: usize, shift: u32): u64 {
  const a = load<u32>(first);
  const low = a & 0x3f3f3f3f;
  const high = ((load<u32>(rest) >> shift) & 0x0f0f0f0f) | ((a >> 2) & 0x30303030);
  return <u64>low | (<u64>high << 32);
}
