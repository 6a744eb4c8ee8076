// Rows c … c + count − 1 of a block [K][16]; rows that do not exist are read as the first and masked away.

export function packFloats32(source: usize, rowBytes: usize, count: i32, block: usize, c: i32, K: i32): void {
  const row1 = source + (count > 1 ? rowBytes : 0);
  const row2 = source + (count > 2 ? rowBytes << 1 : 0);
  const row3 = source + (count > 3 ? 3 * rowBytes : 0);
  const lanes = i32x4.lt_s(i32x4(0, 1, 2, 3), i32x4.splat(count));
  let at = block + (<usize>c << 2);
  let i: usize = 0;
  const vectors = <usize>(K & ~3) << 2;
  for (; i < vectors; i += 16, at += 256) {
    const a = v128.load(source + i);
    const b = v128.load(row1 + i);
    const d = v128.load(row2 + i);
    const e = v128.load(row3 + i);
    const ab0 = v128.shuffle<i32>(a, b, 0, 4, 1, 5);
    const ab1 = v128.shuffle<i32>(a, b, 2, 6, 3, 7);
    const de0 = v128.shuffle<i32>(d, e, 0, 4, 1, 5);
    const de1 = v128.shuffle<i32>(d, e, 2, 6, 3, 7);
    v128.store(at, v128.and(lanes, v128.shuffle<i64>(ab0, de0, 0, 2)));
    v128.store(at, v128.and(lanes, v128.shuffle<i64>(ab0, de0, 1, 3)), 64);
    v128.store(at, v128.and(lanes, v128.shuffle<i64>(ab1, de1, 0, 2)), 128);
    v128.store(at, v128.and(lanes, v128.shuffle<i64>(ab1, de1, 1, 3)), 192);
  }
  for (const end = <usize>K << 2; i < end; i += 4, at += 64) {
    store<f32>(at, load<f32>(source + i));
    if (count > 1) store<f32>(at, load<f32>(row1 + i), 4);
    if (count > 2) store<f32>(at, load<f32>(row2 + i), 8);
    if (count > 3) store<f32>(at, load<f32>(row3 + i), 12);
  }
}

export function packFloats16(source: usize, rowBytes: usize, count: i32, block: usize, c: i32, K: i32): void {
  const row1 = source + (count > 1 ? rowBytes : 0);
  const row2 = source + (count > 2 ? rowBytes << 1 : 0);
  const row3 = source + (count > 3 ? 3 * rowBytes : 0);
  const lanes = i16x8.lt_s(i16x8(0, 1, 2, 3, 0, 1, 2, 3), i16x8.splat(<i16>count));
  let at = block + (<usize>c << 1);
  let i: usize = 0;
  const vectors = <usize>(K & ~7) << 1;
  for (; i < vectors; i += 16, at += 256) {
    const a = v128.load(source + i);
    const b = v128.load(row1 + i);
    const d = v128.load(row2 + i);
    const e = v128.load(row3 + i);
    const ab0 = v128.shuffle<i16>(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    const ab1 = v128.shuffle<i16>(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    const de0 = v128.shuffle<i16>(d, e, 0, 8, 1, 9, 2, 10, 3, 11);
    const de1 = v128.shuffle<i16>(d, e, 4, 12, 5, 13, 6, 14, 7, 15);
    storePair(at, v128.and(lanes, v128.shuffle<i32>(ab0, de0, 0, 4, 1, 5)));
    storePair(at + 64, v128.and(lanes, v128.shuffle<i32>(ab0, de0, 2, 6, 3, 7)));
    storePair(at + 128, v128.and(lanes, v128.shuffle<i32>(ab1, de1, 0, 4, 1, 5)));
    storePair(at + 192, v128.and(lanes, v128.shuffle<i32>(ab1, de1, 2, 6, 3, 7)));
  }
  for (const end = <usize>K << 1; i < end; i += 2, at += 32) {
    store<u16>(at, load<u16>(source + i));
    if (count > 1) store<u16>(at, load<u16>(row1 + i), 2);
    if (count > 2) store<u16>(at, load<u16>(row2 + i), 4);
    if (count > 3) store<u16>(at, load<u16>(row3 + i), 6);
  }
}

/** Two inputs of four rows. */
// @ts-ignore: decorator
@inline
function storePair(at: usize, pair: v128): void {
  v128.store64_lane(at, pair, 0);
  v128.store64_lane(at, pair, 1, 32);
}
