import {
  PACK_CLAIM,
  PACK_FIRST_BLOCK,
  PACK_MATRIX,
  PACK_ROW_BYTES,
  PACK_ROWS,
  PACK_SOURCE,
  PACK_TYPE,
} from "./control";
import { matrixAt } from "./matrix";
import { packRows } from "./pack";
import { claim, isLast } from "./threads";

const BLOCK_ROWS: i32 = 16;
/** Source bytes of a claim: enough that claiming costs nothing, few enough to share a small matrix. */
const CLAIM_BYTES: i32 = 65536;

/** Packs the rows of the packing command; every thread of the pool calls it. True for the last that comes back. */
export function pack(threads: i32): bool {
  const type = load<i32>(PACK_TYPE);
  const source = load<usize>(PACK_SOURCE);
  const rowBytes = load<i32>(PACK_ROW_BYTES);
  const rows = load<i32>(PACK_ROWS);
  const matrix = matrixAt(load<i32>(PACK_MATRIX));
  const firstBlock = load<i32>(PACK_FIRST_BLOCK);
  const count = max(1, CLAIM_BYTES / (rowBytes * BLOCK_ROWS)) * BLOCK_ROWS;
  for (;;) {
    const first = claim(PACK_CLAIM, count);
    if (first >= rows) break;
    const taken = min(count, rows - first);
    packRows(type, source + <usize>first * <usize>rowBytes, taken, matrix, firstBlock + first / BLOCK_ROWS);
  }
  return isLast(threads);
}
