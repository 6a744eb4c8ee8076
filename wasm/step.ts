import { attention } from "./attention";
import {
  ACTIVATION_MAX,
  CLAIMS,
  LOGIT_COUNT,
  OP_RECORDS,
  OP_RECORDS_END,
  SCRATCH,
  SCRATCH_STRIDE,
  SELECTED_COUNT,
  TOKEN_COUNT,
} from "./control";
import { normRows } from "./norm";
import { products } from "./products";
import { word } from "./record";
import { addRows, embedRows, gateRows, gatherRows, headGateRows, quantizeRows, reorderRows, ropeRows, scaleRows } from "./rows";
import { storeRows } from "./store";
import { barrier, enter, isLast, leave } from "./threads";

// src/plan/encode.ts, `OPCODE`.
const EMBED: i32 = 1;
const GATHER: i32 = 2;
const NORM: i32 = 3;
const QUANTIZE: i32 = 4;
const LINEAR: i32 = 5;
const ROPE: i32 = 6;
const STORE: i32 = 7;
const ATTENTION: i32 = 8;
const GATE: i32 = 9;
const ADD: i32 = 10;
const REORDER: i32 = 11;
const SCALE: i32 = 12;
const HEAD_GATE: i32 = 13;

/** Runs all ops of a step; every thread of the pool calls it. True for the last that comes back. */
export function step(thread: i32, threads: i32): bool {
  const scratch = load<usize>(SCRATCH) + <usize>thread * load<usize>(SCRATCH_STRIDE);
  const tokens = load<i32>(TOKEN_COUNT);
  const end = load<usize>(OP_RECORDS_END);
  let counters = load<usize>(CLAIMS);
  let record = load<usize>(OP_RECORDS);
  // Whether a section that one thread ran ends here: nobody is left to wait for.
  let together = false;
  while (record < end) {
    const opcode = word(record, 0);
    const rows = rowsOf(record);
    if (opcode == LINEAR || opcode == ATTENTION) {
      if (word(record, 2) && !together) barrier(threads);
      if (opcode == LINEAR) products(record, rows, counters, thread, threads, scratch);
      else attention(record, counters, threads, scratch);
      together = false;
    } else if (threads > 1 && tokens == 1) {
      // Nothing to share: the last to come does all ops up to the next that can be shared, the others wait only once.
      const last = enter(threads);
      for (;;) {
        if (last) rowOp(record, rowsOf(record), 0, 1);
        const next = record + (<usize>word(record, 1) << 2);
        if (next >= end || word(next, 0) == LINEAR || word(next, 0) == ATTENTION) break;
        record = next;
        counters += <usize>threads << 2;
      }
      if (last) leave(threads);
      together = true;
    } else {
      if (word(record, 2)) barrier(threads);
      rowOp(record, rows, thread, threads);
    }
    record += <usize>word(record, 1) << 2;
    counters += <usize>threads << 2;
  }
  return isLast(threads);
}

// src/plan/encode.ts, `ROWS`.
function rowsOf(record: usize): i32 {
  const space = word(record, 3);
  return load<i32>(space == 0 ? TOKEN_COUNT : space == 1 ? SELECTED_COUNT : LOGIT_COUNT);
}

function rowOp(record: usize, rows: i32, thread: i32, threads: i32): void {
  // Row m of every row op goes to the same thread: src/plan/sync.ts counts on it.
  const from = (thread * rows) / threads;
  const to = ((thread + 1) * rows) / threads;
  switch (word(record, 0)) {
    case EMBED:
      embedRows(record, from, to);
      break;
    case GATHER:
      gatherRows(record, from, to);
      break;
    case NORM:
      normRows(record, from, to);
      break;
    case REORDER:
      reorderRows(record, from, to);
      break;
    case QUANTIZE:
      quantizeRows(record, from, to, load<f32>(ACTIVATION_MAX));
      break;
    case ROPE:
      ropeRows(record, from, to);
      break;
    case STORE:
      storeRows(record, from, to);
      break;
    case GATE:
      gateRows(record, from, to);
      break;
    case SCALE:
      scaleRows(record, from, to);
      break;
    case HEAD_GATE:
      headGateRows(record, from, to);
      break;
    case ADD:
      addRows(record, from, to);
      break;
  }
}
