import { Matrix } from "./linear-matrix";
import { halfLanes, storeHalves, storeOctets, wordLanes } from "./pack-rows";

// Rows c … c + count − 1 of a block; rows that do not exist are read as the first and masked away.

/**
 * Blocks of 32 inputs with 16 bytes of nibbles at `nibblesAt`: inputs 0 to 15 low, 16 to 31 high. `offsetAt`,
 * `fifthAt`: where an f16 offset and a u32 of fifth bits stand, 0 for none. The scale comes first: f16, or MXFP4's
 * exponent.
 */
// @ts-ignore: decorator
@inline
export function packNibbleBlocks(
  blockBytes: usize,
  nibblesAt: usize,
  offsetAt: usize,
  fifthAt: usize,
  isExponent: bool,
  source: usize,
  rowBytes: usize,
  count: i32,
  block: usize,
  c: i32,
  matrix: Matrix,
): void {
  const step1: usize = count > 1 ? rowBytes : 0;
  const step2: usize = count > 2 ? rowBytes << 1 : 0;
  const step3: usize = count > 3 ? 3 * rowBytes : 0;
  const lanes = wordLanes(count);
  const halves = halfLanes(count);
  const mask = i8x16.splat(15);
  let at = block + (<usize>c << 2);
  let highAt = at + matrix.highAt;
  let scaleAt = block + matrix.scaleAt + (<usize>c << 1);
  let offsetsAt = block + matrix.offsetAt + (<usize>c << 1);
  const end = source + rowBytes;
  for (let p = source; p < end; p += blockBytes) {
    const a = v128.load(p + nibblesAt);
    const b = v128.load(p + step1 + nibblesAt);
    const d = v128.load(p + step2 + nibblesAt);
    const e = v128.load(p + step3 + nibblesAt);
    storeOctets(at, v128.and(a, mask), v128.and(b, mask), v128.and(d, mask), v128.and(e, mask), lanes);
    storeOctets(at + 128, i8x16.shr_u(a, 4), i8x16.shr_u(b, 4), i8x16.shr_u(d, 4), i8x16.shr_u(e, 4), lanes);
    at += 256;
    if (isExponent) {
      const four =
        bitsOfExponent(load<u8>(p)) |
        (bitsOfExponent(load<u8>(p + step1)) << 16) |
        (bitsOfExponent(load<u8>(p + step2)) << 32) |
        (bitsOfExponent(load<u8>(p + step3)) << 48);
      store<u64>(scaleAt, four & halves);
    } else storeHalves(scaleAt, p, step1, step2, step3, halves);
    scaleAt += 32;
    if (offsetAt) {
      storeHalves(offsetsAt, p + offsetAt, step1, step2, step3, halves);
      offsetsAt += 32;
    }
    if (fifthAt) {
      const q = p + fifthAt;
      let bits = v128.load32_splat(q);
      bits = v128.load32_lane(q + step1, bits, 1);
      bits = v128.load32_lane(q + step2, bits, 2);
      bits = v128.load32_lane(q + step3, bits, 3);
      v128.store(highAt, v128.and(lanes, bitsByQuad(bits)));
      highAt += 64;
    }
  }
}

/** bf16 of 2^(e − 128), as src/formats/ggml/legacy-quants.ts keeps MXFP4 scales: the two smallest are subnormal. */
// @ts-ignore: decorator
@inline
function bitsOfExponent(e: u32): u64 {
  return <u64>(e < 2 ? <u32>0x20 << e : (e - 1) << 7);
}

/** In each 32-bit lane: bit 4q + i to bit 8i + q. Each line swaps two bits of all bit numbers. */
// @ts-ignore: decorator
@inline
function bitsByQuad(x: v128): v128 {
  let t = v128.and(v128.xor(i32x4.shr_u(x, 14), x), i32x4.splat(0x0000cccc));
  x = v128.xor(v128.xor(x, t), i32x4.shl(t, 14));
  t = v128.and(v128.xor(i32x4.shr_u(x, 7), x), i32x4.splat(0x00aa00aa));
  x = v128.xor(v128.xor(x, t), i32x4.shl(t, 7));
  t = v128.and(v128.xor(i32x4.shr_u(x, 2), x), i32x4.splat(0x0c0c0c0c));
  x = v128.xor(v128.xor(x, t), i32x4.shl(t, 2));
  t = v128.and(v128.xor(i32x4.shr_u(x, 1), x), i32x4.splat(0x22222222));
  return v128.xor(v128.xor(x, t), i32x4.shl(t, 1));
}

/** Blocks of an f16 scale and 32 signed bytes; a code is the byte + 128. */
export function packQ8_0(source: usize, rowBytes: usize, count: i32, block: usize, c: i32, matrix: Matrix): void {
  const step1: usize = count > 1 ? rowBytes : 0;
  const step2: usize = count > 2 ? rowBytes << 1 : 0;
  const step3: usize = count > 3 ? 3 * rowBytes : 0;
  const lanes = wordLanes(count);
  const halves = halfLanes(count);
  const mask = i8x16.splat(15);
  const bias = i8x16.splat(-128);
  let at = block + (<usize>c << 2);
  let highAt = at + matrix.highAt;
  let scaleAt = block + matrix.scaleAt + (<usize>c << 1);
  const end = source + rowBytes;
  for (let p = source; p < end; p += 34) {
    storeHalves(scaleAt, p, step1, step2, step3, halves);
    scaleAt += 32;
    for (let half: usize = 2; half < 34; half += 16) {
      const a = v128.xor(v128.load(p + half), bias);
      const b = v128.xor(v128.load(p + step1 + half), bias);
      const d = v128.xor(v128.load(p + step2 + half), bias);
      const e = v128.xor(v128.load(p + step3 + half), bias);
      storeOctets(at, v128.and(a, mask), v128.and(b, mask), v128.and(d, mask), v128.and(e, mask), lanes);
      storeOctets(highAt, i8x16.shr_u(a, 4), i8x16.shr_u(b, 4), i8x16.shr_u(d, 4), i8x16.shr_u(e, 4), lanes);
      at += 128;
      highAt += 128;
    }
  }
}
