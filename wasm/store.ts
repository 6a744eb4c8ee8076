import {
  BLOCK_TABLES,
  CACHE,
  CACHE_BLOCK_BYTES,
  CACHE_F32,
  CACHE_HEAD_BYTES,
  CACHE_HEAD_SIZE,
  CACHE_KV_HEADS,
  POSITIONS,
} from "./control";
import { floatsToHalves } from "./half";
import { FIELDS, row, word } from "./record";

/** Address of the keys of head 0 of a layer in the block that holds a position; each head takes 2 · CACHE_HEAD_BYTES. */
export function keysOf(table: usize, position: i32, layer: i32): usize {
  const block = load<i32>(table + (<usize>(position >> 4) << 2));
  return (
    load<usize>(CACHE) +
    <usize>block * load<usize>(CACHE_BLOCK_BYTES) +
    ((<usize>layer * load<usize>(CACHE_KV_HEADS) * load<usize>(CACHE_HEAD_BYTES)) << 1)
  );
}

/** Keys, transposed, and values of rows first … end − 1 to the cache. Head sizes are multiples of 4. */
export function storeRows(record: usize, first: i32, end: i32): void {
  const layer = word(record, FIELDS);
  const kvHeads = load<i32>(CACHE_KV_HEADS);
  const headSize = load<i32>(CACHE_HEAD_SIZE);
  const headBytes = load<usize>(CACHE_HEAD_BYTES);
  const wide = load<i32>(CACHE_F32);
  for (let m = first; m < end; m++) {
    const position = load<i32>(load<usize>(POSITIONS) + (<usize>m << 2));
    const table = load<usize>(load<usize>(BLOCK_TABLES) + (<usize>m << 2));
    const token = position & 15;
    let keys = keysOf(table, position, layer);
    let k = row(record, FIELDS + 1, m);
    let v = row(record, FIELDS + 3, m);
    for (let h = 0; h < kvHeads; h++, keys += headBytes << 1) {
      if (wide) storeFloats(k, v, keys + (token << 2), keys + headBytes + <usize>(token * headSize << 2), headSize);
      else storeHalves(k, v, keys + (token << 1), keys + headBytes + <usize>(token * headSize << 1), headSize);
      k += <usize>headSize << 2;
      v += <usize>headSize << 2;
    }
  }
}

function storeFloats(k: usize, v: usize, key: usize, value: usize, headSize: i32): void {
  memory.copy(value, v, <usize>headSize << 2);
  for (let d = 0; d < headSize; d++, k += 4, key += 64) store<f32>(key, load<f32>(k));
}

function storeHalves(k: usize, v: usize, key: usize, value: usize, headSize: i32): void {
  for (let d = 0; d < headSize; d += 4, k += 16, v += 16, key += 128, value += 8) {
    const keys = floatsToHalves(v128.load(k));
    v128.store16_lane(key, keys, 0);
    v128.store16_lane(key, keys, 2, 32);
    v128.store16_lane(key, keys, 4, 64);
    v128.store16_lane(key, keys, 6, 96);
    const values = floatsToHalves(v128.load(v));
    v128.store64_lane(value, i16x8.narrow_i32x4_u(values, values), 0);
  }
}
