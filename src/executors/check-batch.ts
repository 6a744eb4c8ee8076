import { HalfbyteError } from "../errors.ts";
import { blocksFor } from "../plan/cache-layout.ts";
import type { Plan } from "../plan/plan.ts";
import type { StepBatch } from "./executor.ts";

/** Throws ERR_ARGUMENT unless the batch fits the plan: kernels trust their arguments. */
export function checkBatch(plan: Plan, batch: StepBatch, blockCount: number): void {
  const { tokenIds, segments, logitRows } = batch;
  const fail = (place: string, expected: string, got: unknown): never => {
    throw new HalfbyteError("ERR_ARGUMENT", "bad step", { place, expected, got: String(got) });
  };
  const M = tokenIds.length;
  if (M < 1 || M > plan.maxRows) fail("tokenIds", `1 to ${plan.maxRows} tokens`, M);
  const N = plan.matrices[0]!.layout.N;
  for (const id of tokenIds) if (id < 0 || id >= N) fail("tokenIds", `ids below ${N}`, id);
  const most = batch.logits === false ? plan.maxRows : Math.min(plan.maxRows, plan.maxLogitRows);
  if (logitRows.length > most) fail("logitRows", `at most ${most}`, logitRows.length);
  for (const row of logitRows) if (row < 0 || row >= M) fail("logitRows", `rows below ${M}`, row);
  let rows = 0;
  for (const segment of segments) {
    if (segment.rows < 1 || segment.position < 0) fail("segments", "rows and a position", segment.rows);
    const needed = blocksFor(segment.position + segment.rows);
    if (segment.blocks.length < needed) fail("segments", `${needed} cache blocks`, segment.blocks.length);
    for (const block of segment.blocks.subarray(0, needed))
      if (block < 0 || block >= blockCount) fail("segments", `block ids below ${blockCount}`, block);
    rows += segment.rows;
  }
  if (rows !== M) fail("segments", `${M} rows in all`, rows);
}
