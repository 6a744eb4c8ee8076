import { HalfbyteError } from "../errors.ts";
import type { PlanRunner } from "../executors/executor.ts";
import { blocksFor } from "../plan/cache-layout.ts";

export interface TeacherForcedOptions {
  /** Tokens of one window: the text is cut there and the model starts anew. Default: the whole text is one. */
  readonly window?: number;
  readonly signal?: AbortSignal;
  /** Positions done so far. */
  readonly onProgress?: (done: number) => void;
}

/**
 * Feeds a text and shows the logits after each of its tokens, f32 [vocabulary], valid during the call alone. The steps
 * take as many tokens as the plan has rows of logits.
 */
export async function forEachPosition(
  runner: PlanRunner,
  ids: Int32Array,
  visit: (position: number, logits: Float32Array) => void,
  options: TeacherForcedOptions = {},
): Promise<void> {
  const { window = ids.length, signal, onProgress } = options;
  if (ids.length > 0 && !(Number.isInteger(window) && window >= 2))
    throw new HalfbyteError("ERR_ARGUMENT", "unusable window", { expected: "2 tokens or more", got: String(window) });
  const { maxRows, maxLogitRows, vocabularySize } = runner.plan;
  const blocks = Int32Array.from({ length: blocksFor(Math.min(window, ids.length)) }, (_, i) => i);
  runner.ensureBlocks(blocks.length);
  const step = Math.min(maxRows, maxLogitRows);
  for (let start = 0; start < ids.length; start += window) {
    const end = Math.min(start + window, ids.length);
    for (let first = start; first < end; first += step) {
      signal?.throwIfAborted();
      const rows = Math.min(step, end - first);
      const logits = await runner.step({
        tokenIds: ids.slice(first, first + rows),
        segments: [{ rows, position: first - start, blocks }],
        logitRows: Int32Array.from({ length: rows }, (_, m) => m),
      });
      for (let m = 0; m < rows; m++) visit(first + m, logits.subarray(m * vocabularySize, (m + 1) * vocabularySize));
      onProgress?.(first + rows);
    }
  }
}
