import { accumulate16, accumulate16Pair, accumulate4 } from "./accumulate";
import {
  BLOCK_TABLES,
  CACHE_F32,
  CACHE_HEAD_BYTES,
  PIECE_COUNT,
  PIECES,
} from "./control";
import { halvesToFloats } from "./half";
import { FIELDS, number, row, word } from "./record";
import { softMax } from "./soft-max";
import { keysOf, VALUES_AFTER } from "./store";
import { claim } from "./threads";

/**
 * Arithmetic rule 7. A piece is some rows of one sequence; a claim is one key-value head of a piece, or some of the heads
 * that share it where there are fewer of those than threads. A query is one head of one row. Of every block of the cache
 * the keys, later the values, are turned to f32 once and used for all queries of the claim.
 */
export function attention(record: usize, counter: usize, threads: i32, scratch: usize): void {
  const kvHeads = word(record, FIELDS + 6);
  const group = word(record, FIELDS + 5) / kvHeads;
  const pieces = load<i32>(PIECE_COUNT);
  const units = pieces * kvHeads;
  if (units == 0) return;
  const wanted = min((threads + units - 1) / units, group);
  const headCount = (group + wanted - 1) / wanted;
  const parts = (group + headCount - 1) / headCount;
  const total = units * parts;
  for (;;) {
    // The last pieces of a long prompt see most: they go first.
    const unit = total - 1 - claim(counter, 1);
    if (unit < 0) return;
    const kvHead = unit / parts % kvHeads;
    const firstHead = (unit % parts) * headCount;
    const piece = load<usize>(PIECES) + <usize>(unit / parts / kvHeads) * 12;
    attend(record, piece, kvHead, kvHead * group + firstHead, min(headCount, group - firstHead), scratch);
  }
}

function attend(record: usize, piece: usize, kvHead: i32, head: i32, heads: i32, scratch: usize): void {
  const firstRow = load<i32>(piece);
  const rows = load<i32>(piece, 4);
  const position = load<i32>(piece, 8);
  const layer = word(record, FIELDS);
  const headSize = word(record, FIELDS + 7);
  const scale = number(record, FIELDS + 8);
  const window = word(record, FIELDS + 9);
  const softCap = number(record, FIELDS + 10);
  const valuesAfter = VALUES_AFTER * load<usize>(CACHE_HEAD_BYTES);
  const table = load<usize>(load<usize>(BLOCK_TABLES) + (<usize>firstRow << 2));
  const headAt = <usize>(head * headSize) << 2;
  const firstBlock = firstToken(position, window) >> 4;
  const lastBlock = (position + rows - 1) >> 4;
  // A row of scores begins with the first token of the first block; the sum of its weights stands behind the last.
  const scores = scratch + (<usize>headSize << 6);
  const scoreBytes = <usize>(lastBlock - firstBlock + 1) << 6;
  const scoreStride = scoreBytes + 64;

  for (let block = firstBlock; block <= lastBlock; block++) {
    const keys = floats(keysOf(table, block << 4, layer, kvHead), headSize, scratch);
    const end = rowsBefore(block, position, rows, window) * heads;
    const at = scores + (<usize>(block - firstBlock) << 6);
    let q = max(0, (block << 4) - position) * heads;
    for (; q + 1 < end; q += 2) {
      const y = at + <usize>q * scoreStride;
      const x0 = headOf(record, FIELDS + 1, firstRow, heads, q, headAt, headSize);
      const x1 = headOf(record, FIELDS + 1, firstRow, heads, q + 1, headAt, headSize);
      accumulate16Pair(x0, x1, headSize, keys, 64, y, y + scoreStride, true);
    }
    if (q < end) {
      const x = headOf(record, FIELDS + 1, firstRow, heads, q, headAt, headSize);
      accumulate16(x, headSize, keys, 64, at + <usize>q * scoreStride, true);
    }
  }

  for (let r = 0, q = 0; r < rows; r++) {
    const last = position + r;
    const first = firstToken(last, window);
    const blockAt = <usize>((first >> 4) - firstBlock) << 6;
    for (let h = 0; h < heads; h++, q++) {
      const at = scores + <usize>q * scoreStride;
      const sum = softMax(at + blockAt, first & 15, last - (first & ~15), scale, softCap);
      store<f32>(at + scoreBytes, sum);
      memory.fill(headOf(record, FIELDS + 3, firstRow, heads, q, headAt, headSize), 0, <usize>headSize << 2);
    }
  }

  for (let block = firstBlock; block <= lastBlock; block++) {
    const values = floats(keysOf(table, block << 4, layer, kvHead) + valuesAfter, headSize, scratch);
    const end = rowsBefore(block, position, rows, window) * heads;
    const at = scores + (<usize>(block - firstBlock) << 6);
    let q = max(0, (block << 4) - position) * heads;
    while (q < end) {
      const last = position + q / heads;
      const first = max(firstToken(last, window) - (block << 4), 0);
      const count = min(last - (block << 4), 15) + 1 - first;
      const y0 = headOf(record, FIELDS + 3, firstRow, heads, q, headAt, headSize);
      const weights = at + <usize>q * scoreStride + (<usize>first << 2);
      const from = values + (<usize>(first * headSize) << 2);
      const pair = q + 1 < end && (q / heads == (q + 1) / heads || (count == 16 && seesAll(last + 1, block, window)));
      if (pair) {
        const y1 = headOf(record, FIELDS + 3, firstRow, heads, q + 1, headAt, headSize);
        addValuesPair(weights, weights + scoreStride, count, from, headSize, y0, y1);
        q += 2;
      } else {
        addValues(weights, count, from, headSize, y0);
        q++;
      }
    }
  }

  for (let q = 0; q < rows * heads; q++) {
    const sum = f32x4.splat(load<f32>(scores + <usize>q * scoreStride + scoreBytes));
    let y = headOf(record, FIELDS + 3, firstRow, heads, q, headAt, headSize);
    const end = y + (<usize>headSize << 2);
    for (; y < end; y += 16) v128.store(y, f32x4.div(v128.load(y), sum));
  }
}

// @ts-ignore: decorator
@inline
function firstToken(position: i32, window: i32): i32 {
  return window ? max(0, position - window + 1) : 0;
}

/** Rows, from the first, whose window has not left the block behind. */
// @ts-ignore: decorator
@inline
function rowsBefore(block: i32, position: i32, rows: i32, window: i32): i32 {
  return window ? min(rows, (block << 4) + 15 + window - position) : rows;
}

/** Whether a row at a position sees all 16 tokens of a block. */
// @ts-ignore: decorator
@inline
function seesAll(position: i32, block: i32, window: i32): bool {
  return position >= (block << 4) + 15 && firstToken(position, window) <= block << 4;
}

/** 16 · headSize cached numbers as f32: where they are, or in the scratch. */
// @ts-ignore: decorator
@inline
function floats(cached: usize, headSize: i32, scratch: usize): usize {
  if (load<i32>(CACHE_F32)) return cached;
  halvesToFloats(cached, headSize << 4, scratch);
  return scratch;
}

// @ts-ignore: decorator
@inline
function headOf(record: usize, buffer: i32, firstRow: i32, heads: i32, q: i32, headAt: usize, headSize: i32): usize {
  return row(record, buffer, firstRow + q / heads) + headAt + (<usize>(q % heads * headSize) << 2);
}

function addValuesPair(w0: usize, w1: usize, count: i32, values: usize, headSize: i32, y0: usize, y1: usize): void {
  const stride = <usize>headSize << 2;
  const full = <usize>(headSize & ~15) << 2;
  let d: usize = 0;
  for (; d < full; d += 64) accumulate16Pair(w0, w1, count, values + d, stride, y0 + d, y1 + d, false);
  for (; d < stride; d += 16) {
    accumulate4(w0, count, values + d, stride, y0 + d);
    accumulate4(w1, count, values + d, stride, y1 + d);
  }
}

function addValues(weights: usize, count: i32, values: usize, headSize: i32, y: usize): void {
  const stride = <usize>headSize << 2;
  const full = <usize>(headSize & ~15) << 2;
  let d: usize = 0;
  for (; d < full; d += 64) accumulate16(weights, count, values + d, stride, y + d, false);
  for (; d < stride; d += 16) accumulate4(weights, count, values + d, stride, y + d);
}
