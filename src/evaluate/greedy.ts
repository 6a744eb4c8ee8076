import type { PlanRunner } from "../executors/executor.ts";
import { blocksFor } from "../plan/cache-layout.ts";
import { argmax } from "./log-probability.ts";

/** The likeliest token, `count` times, after a prompt; end-of-sequence tokens are as any other. */
export async function greedyContinuation(
  runner: PlanRunner,
  prompt: ArrayLike<number>,
  count: number,
): Promise<number[]> {
  const { maxRows } = runner.plan;
  const blocks = Int32Array.from({ length: blocksFor(prompt.length + count) }, (_, i) => i);
  runner.ensureBlocks(blocks.length);
  const out: number[] = [];
  let position = 0;
  const feed = async (ids: Int32Array, wanted: boolean): Promise<Float32Array> => {
    const segments = [{ rows: ids.length, position, blocks }];
    position += ids.length;
    return runner.step({ tokenIds: ids, segments, logitRows: Int32Array.from(wanted ? [ids.length - 1] : []) });
  };
  let logits: Float32Array = new Float32Array(0);
  for (let first = 0; first < prompt.length; first += maxRows) {
    const ids = Int32Array.from(prompt).subarray(first, first + maxRows);
    logits = await feed(ids, first + maxRows >= prompt.length);
  }
  while (out.length < count) {
    out.push(argmax(logits));
    if (out.length < count) logits = await feed(Int32Array.of(out.at(-1)!), true);
  }
  return out;
}
