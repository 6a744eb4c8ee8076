import type { PlanRunner } from "../executors/executor.ts";
import { blocksFor } from "../plan/cache-layout.ts";
import type { Window } from "./windows.ts";

/** What all runners said in one step about the same tokens. */
export interface SideBySide {
  /** Number of the first prediction, over all windows. */
  readonly first: number;
  /** The tokens that came next, one for each row. */
  readonly next: Int32Array;
  /** Rows of the step, of which the last `next.length` predict. */
  readonly rows: number;
  /** For each runner f32 [next.length, vocabulary], valid until the visitor's promise settles. */
  readonly logits: readonly Float32Array[];
}

export interface SideBySideOptions {
  readonly signal?: AbortSignal | undefined;
  /** Rows computed so far, of all runners together. */
  readonly onProgress?: ((rows: number) => void) | undefined;
}

/**
 * Feeds windows to runners of one vocabulary, step by step in turn, so that what they say can be compared while no more
 * than a step of it is kept. Rows that predict nothing get no logits. The plans have the same numbers of rows.
 */
export async function forEachPrediction(
  runners: readonly PlanRunner[],
  windows: readonly Window[],
  visit: (step: SideBySide) => void,
  { signal, onProgress }: SideBySideOptions = {},
): Promise<void> {
  const longest = Math.max(0, ...windows.map(({ ids }) => ids.length));
  const blocks = Int32Array.from({ length: blocksFor(longest) }, (_, i) => i);
  for (const runner of runners) runner.ensureBlocks(blocks.length);
  const { maxRows = 1, maxLogitRows = 1 } = runners[0]?.plan ?? {};
  let first = 0;
  let done = 0;
  for (const { ids, next } of windows) {
    const context = ids.length - next.length;
    for (let position = 0; position < ids.length; ) {
      // Context goes in steps of its own until too little of it is left to fill one.
      const contextRows = Math.max(0, context - position);
      const rows =
        contextRows >= maxRows ? maxRows : Math.min(maxRows, contextRows + maxLogitRows, ids.length - position);
      const predictions = Math.max(0, rows - contextRows);
      const logitRows = Int32Array.from({ length: predictions }, (_, m) => rows - predictions + m);
      const tokenIds = ids.subarray(position, position + rows);
      const logits: Float32Array[] = [];
      for (const runner of runners) {
        signal?.throwIfAborted();
        logits.push(await runner.step({ tokenIds, segments: [{ rows, position, blocks }], logitRows }));
        onProgress?.((done += rows));
      }
      const at = position + rows - predictions - context;
      if (predictions > 0) visit({ first, next: next.subarray(at, at + predictions), rows, logits });
      first += predictions;
      position += rows;
      // The reference executor never waits; signals of the system are heard between tasks alone.
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }
}
