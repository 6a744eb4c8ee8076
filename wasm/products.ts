import { linearBlocks } from "./linear";
import { MATRIX_BLOCKS, matrixAt, vectorAt } from "./matrix";
import { FIELDS, row, word } from "./record";
import { take } from "./threads";

/** Words of the fields before the parts, and of one part. */
const PARTS_AT: i32 = FIELDS + 9;
const PART_WORDS: i32 = 7;

/**
 * The op `linear`, in blocks of 16 outputs counted through all its parts. Each thread has a share of neighbouring blocks,
 * which it reads in order, as memory likes it; when its own is done it helps with those of others.
 */
export function products(record: usize, rows: i32, counters: usize, thread: i32, threads: i32, scratch: usize): void {
  if (rows == 0) return;
  const parts = word(record, FIELDS + 8);
  let total = 0;
  for (let part = 0; part < parts; part++) total += blocksOf(record, part);
  for (let i = 0; i < threads; i++) {
    const share = (thread + i) % threads;
    const start = (share * total) / threads;
    const size = ((share + 1) * total) / threads - start;
    const counter = counters + (<usize>share << 2);
    for (;;) {
      const taken = take(counter, size, threads);
      if (taken == 0) break;
      const first = start + <i32>(taken >> 32);
      const end = first + <i32>taken;
      for (let part = 0, at = 0; part < parts && at < end; part++) {
        const blocks = blocksOf(record, part);
        const from = max(first - at, 0);
        const to = min(end - at, blocks);
        if (from < to) multiply(record, PARTS_AT + part * PART_WORDS, from, to, rows, scratch);
        at += blocks;
      }
    }
  }
}

// @ts-ignore: decorator
@inline
function blocksOf(record: usize, part: i32): i32 {
  return load<i32>(matrixAt(word(record, PARTS_AT + part * PART_WORDS)) + (MATRIX_BLOCKS << 2));
}

function multiply(record: usize, part: i32, from: i32, to: i32, rows: i32, scratch: usize): void {
  const hasResidual = word(record, part + 4) >= 0;
  linearBlocks(
    row(record, FIELDS + 1, 0),
    word(record, FIELDS + 2),
    word(record, FIELDS),
    word(record, FIELDS + 4),
    word(record, FIELDS + 5),
    word(record, FIELDS + 6),
    word(record, FIELDS + 7),
    matrixAt(word(record, part)),
    vectorAt(word(record, part + 1)),
    row(record, part + 2, 0),
    word(record, part + 3),
    hasResidual ? row(record, part + 4, 0) : 0,
    word(record, part + 5),
    word(record, part + 6),
    from,
    to,
    rows,
    scratch,
  );
}
