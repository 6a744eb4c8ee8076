import {
  BLOCK_TABLES,
  CACHE,
  CACHE_CHUNK_BYTES,
  CACHE_F32,
  CACHE_HEAD_BYTES,
  CACHE_HEAD_SIZE,
  CACHE_KV_HEADS,
  POSITIONS,
} from "./control";
import { floatsToHalves } from "./half";
import { FIELDS, row, word } from "./record";

/** Blocks of the cache that stand together: [layers][heads]{keys, values}[16 blocks], so that a head's keys are read in order. */
const CHUNK_BLOCKS: usize = 16;

/** Address of the keys of a head in the block that holds a position; its values stand VALUES_AFTER · CACHE_HEAD_BYTES later. */
export function keysOf(table: usize, position: i32, layer: i32, head: i32): usize {
  const block = load<usize>(table + (<usize>(position >> 4) << 2));
  const headBytes = load<usize>(CACHE_HEAD_BYTES);
  const before = <usize>(layer * load<i32>(CACHE_KV_HEADS) + head) * 2 * CHUNK_BLOCKS + (block % CHUNK_BLOCKS);
  return load<usize>(CACHE) + (block / CHUNK_BLOCKS) * load<usize>(CACHE_CHUNK_BYTES) + before * headBytes;
}

export const VALUES_AFTER: usize = CHUNK_BLOCKS;

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
    let k = row(record, FIELDS + 1, m);
    let v = row(record, FIELDS + 3, m);
    for (let h = 0; h < kvHeads; h++) {
      const keys = keysOf(table, position, layer, h);
      const values = keys + VALUES_AFTER * headBytes;
      if (wide) storeFloats(k, v, keys + (token << 2), values + <usize>(token * headSize << 2), headSize);
      else storeHalves(k, v, keys + (token << 1), values + <usize>(token * headSize << 1), headSize);
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
