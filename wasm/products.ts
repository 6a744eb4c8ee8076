import { linearBlocks } from "./linear";
import { MATRIX_BLOCKS, matrixAt, vectorAt } from "./matrix";
import { FIELDS, row, word } from "./record";
import { claim } from "./threads";

/** Words of the fields before the parts, and of one part. */
const PARTS_AT: i32 = FIELDS + 9;
const PART_WORDS: i32 = 7;
/** Claims that each thread gets of an op, if it is large enough: more even out threads that are interrupted. */
const CLAIMS_PER_THREAD: i32 = 8;

/** The op `linear`: threads claim blocks of 16 outputs, counted through all its parts. */
export function products(record: usize, rows: i32, counter: usize, threads: i32, scratch: usize): void {
  if (rows == 0) return;
  const parts = word(record, FIELDS + 8);
  let total = 0;
  for (let part = 0; part < parts; part++) total += blocksOf(record, part);
  const count = threads == 1 ? total : max(1, total / (threads * CLAIMS_PER_THREAD));
  for (;;) {
    const first = claim(counter, count);
    if (first >= total) return;
    const end = min(first + count, total);
    for (let part = 0, at = 0; part < parts && at < end; part++) {
      const blocks = blocksOf(record, part);
      const from = max(first - at, 0);
      const to = min(end - at, blocks);
      if (from < to) multiply(record, PARTS_AT + part * PART_WORDS, from, to, rows, scratch);
      at += blocks;
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
