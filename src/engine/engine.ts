import type { PlanRunner } from "../executors/executor.ts";
import { blocksFor } from "../plan/cache-layout.ts";
import { BlockPool } from "./block-pool.ts";
import { Sequence } from "./sequence.ts";
import type { EngineStatistics } from "./statistics.ts";

/** Ended sequences kept for a next turn that begins as they did. */
const KEPT_SEQUENCES = 4;

/**
 * Runs sequences on one model: takes turns between them step by step, and lets a new prompt start from the cache of an
 * ended sequence that begins with the same tokens.
 */
export class Engine {
  readonly #runner: PlanRunner;
  readonly #pool: BlockPool;
  /** Least recently used first. */
  #kept: Sequence[] = [];
  #turn: Promise<unknown> = Promise.resolve();

  /** `maxTokens`: positions that all sequences together may hold in the cache. */
  constructor(runner: PlanRunner, maxTokens: number) {
    this.#runner = runner;
    this.#pool = new BlockPool(blocksFor(maxTokens), (count) => runner.ensureBlocks(roundUpBlocks(count, maxTokens)));
  }

  get statistics(): EngineStatistics {
    const cached = this.#kept.reduce((sum, sequence) => sum + sequence.blocks.length, 0);
    return {
      running: 0,
      waiting: 0,
      blocksInUse: this.#pool.inUse - cached,
      blocksCached: cached,
      blocksTotal: this.#pool.limit,
      blockBytes: this.#runner.plan.cache.blockBytes,
      promptTokensComputed: 0,
      generatedTokens: 0,
      prefixQueryTokens: 0,
      prefixHitTokens: 0,
      preemptions: 0,
      steps: 0,
      draftTokens: 0,
      acceptedDraftTokens: 0,
      finished: 0,
      failed: 0,
    };
  }

  /** A sequence whose cache already holds as much of `prompt` as a kept one has, all but the last token at most. */
  open(prompt: Int32Array): Sequence {
    let best: Sequence | undefined;
    let bestLength = 0;
    for (const sequence of this.#kept) {
      const length = Math.min(sequence.commonPrefix(prompt), prompt.length - 1);
      if (length > bestLength) [best, bestLength] = [sequence, length];
    }
    if (!best) return new Sequence(this.#pool);
    this.#kept = this.#kept.filter((sequence) => sequence !== best);
    best.truncate(bestLength);
    return best;
  }

  /** Keeps an ended sequence for reuse. */
  close(sequence: Sequence): void {
    sequence.logits = new Float32Array(0);
    this.#kept.push(sequence);
    while (this.#kept.length > KEPT_SEQUENCES) this.#kept.shift()?.truncate(0);
  }

  /**
   * Feeds `tokens` to a sequence, in steps the plan can take, and resolves to the logits after the last of them, f32
   * [vocabulary], valid until the sequence is fed again. Between steps other sequences have their turn and `signal` is heeded.
   */
  async feed(sequence: Sequence, tokens: ArrayLike<number>, signal?: AbortSignal): Promise<Float32Array> {
    const all = Int32Array.from(tokens);
    const { maxRows } = this.#runner.plan;
    for (let first = 0; first < all.length; first += maxRows) {
      const ids = all.subarray(first, first + maxRows);
      const last = first + ids.length === all.length;
      await this.#exclusive(() => {
        signal?.throwIfAborted();
        return this.#step(sequence, ids, last);
      });
    }
    return sequence.logits;
  }

  async #step(sequence: Sequence, tokenIds: Int32Array, wantLogits: boolean): Promise<void> {
    const position = sequence.cached.length;
    this.#reserve(sequence, position + tokenIds.length);
    const logits = await this.#runner.step({
      tokenIds,
      segments: [{ rows: tokenIds.length, position, blocks: sequence.blocks }],
      logitRows: wantLogits ? Int32Array.of(tokenIds.length - 1) : new Int32Array(0),
    });
    for (const id of tokenIds) sequence.cached.push(id);
    if (wantLogits) sequence.keepLogits(logits);
  }

  /** Blocks for a sequence, at the cost of kept ones. */
  #reserve(sequence: Sequence, tokens: number): void {
    for (;;) {
      try {
        sequence.reserve(tokens);
        return;
      } catch (error) {
        const oldest = this.#kept.shift();
        if (!oldest) throw error;
        oldest.truncate(0);
      }
    }
  }

  /** One step at a time: the runner's rule. */
  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }
}

/** Growth in steps of an eighth, so that memory is seldom moved and never much larger than needed. */
function roundUpBlocks(count: number, maxTokens: number): number {
  const step = Math.max(4, Math.ceil(count / 8));
  return Math.min(Math.ceil(count / step) * step, blocksFor(maxTokens));
}
