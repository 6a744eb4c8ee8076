import { attention } from "./attention";
import {
  ACTIVATION_MAX,
  CLAIMS,
  LOGIT_COUNT,
  OP_RECORDS,
  OP_RECORDS_END,
  SCRATCH,
  SCRATCH_STRIDE,
  TOKEN_COUNT,
} from "./control";
import { normRows } from "./norm";
import { products } from "./products";
import { word } from "./record";
import { addRows, embedRows, gateRows, gatherRows, quantizeRows, ropeRows } from "./rows";
import { storeRows } from "./store";
import { barrier, isLast } from "./threads";

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

/** Runs all ops of a step; every thread of the pool calls it. True for the last that comes back. */
export function step(thread: i32, threads: i32): bool {
  const scratch = load<usize>(SCRATCH) + <usize>thread * load<usize>(SCRATCH_STRIDE);
  const tokens = load<i32>(TOKEN_COUNT);
  const logits = load<i32>(LOGIT_COUNT);
  const activationMax = load<f32>(ACTIVATION_MAX);
  const end = load<usize>(OP_RECORDS_END);
  let counter = load<usize>(CLAIMS);
  for (let record = load<usize>(OP_RECORDS); record < end; counter += 4) {
    if (word(record, 2)) barrier(threads);
    const rows = word(record, 3) ? logits : tokens;
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
      case QUANTIZE:
        quantizeRows(record, from, to, activationMax);
        break;
      case LINEAR:
        products(record, rows, counter, threads, scratch);
        break;
      case ROPE:
        ropeRows(record, from, to);
        break;
      case STORE:
        storeRows(record, from, to);
        break;
      case ATTENTION:
        attention(record, counter, threads, scratch);
        break;
      case GATE:
        gateRows(record, from, to);
        break;
      case ADD:
        addRows(record, from, to);
        break;
    }
    record += <usize>word(record, 1) << 2;
  }
  return isLast(threads);
}
