import type { PlanRunner } from "../executors/executor.ts";
import { blocksFor } from "../plan/cache-layout.ts";

export interface TeacherForcedOptions {
  readonly signal?: AbortSignal;
  /** Positions done so far. */
  readonly onProgress?: (done: number) => void;
}

/**
 * Feeds a text as one window and shows the logits after each of its tokens, f32 [vocabulary], valid during the call
 * alone. The steps take as many tokens as the plan has rows of logits.
 */
export async function forEachPosition(
  runner: PlanRunner,
  ids: Int32Array,
  visit: (position: number, logits: Float32Array) => void,
  { signal, onProgress }: TeacherForcedOptions = {},
): Promise<void> {
  const { maxRows, maxLogitRows, vocabularySize } = runner.plan;
  const blocks = Int32Array.from({ length: blocksFor(ids.length) }, (_, i) => i);
  runner.ensureBlocks(blocks.length);
  const step = Math.min(maxRows, maxLogitRows);
  for (let first = 0; first < ids.length; first += step) {
    signal?.throwIfAborted();
    const tokenIds = ids.slice(first, first + step);
    const logits = await runner.step({
      tokenIds,
      segments: [{ rows: tokenIds.length, position: first, blocks }],
      logitRows: tokenIds.map((_, m) => m),
    });
    for (let m = 0; m < tokenIds.length; m++)
      visit(first + m, logits.subarray(m * vocabularySize, (m + 1) * vocabularySize));
    onProgress?.(first + tokenIds.length);
  }
}
