/** A moment of an engine, and what it counted since it was made. */
export interface EngineStatistics extends EngineCounts {
  /** Generations that have their turn in every step. */
  readonly running: number;
  readonly waiting: number;
  /** Blocks of 16 tokens in the cache: in use by generations, kept for reuse, and the most there may be. */
  readonly blocksInUse: number;
  readonly blocksCached: number;
  readonly blocksTotal: number;
  readonly blockBytes: number;
}

export interface EngineCounts {
  readonly steps: number;
  /** Tokens of prompts that were computed, those that were computed again after preemption included. */
  readonly promptTokensComputed: number;
  readonly generatedTokens: number;
  /** Prompt tokens looked up in the cache, and found there. */
  readonly prefixQueryTokens: number;
  readonly prefixHitTokens: number;
  readonly preemptions: number;
  readonly draftTokens: number;
  readonly acceptedDraftTokens: number;
  readonly finished: number;
  readonly failed: number;
  readonly cancelled: number;
}

/** How much the last interval between two ends weighs in the mean. */
const INTERVAL_WEIGHT = 0.1;
const MIN_RETRY_MS = 1000;

/** The counts of an engine, and its pace. */
export class Counters {
  readonly counts: { -readonly [name in keyof EngineCounts]: number } = {
    steps: 0,
    promptTokensComputed: 0,
    generatedTokens: 0,
    prefixQueryTokens: 0,
    prefixHitTokens: 0,
    preemptions: 0,
    draftTokens: 0,
    acceptedDraftTokens: 0,
    finished: 0,
    failed: 0,
    cancelled: 0,
  };
  #lastEnd: number | undefined;
  #interval: number | undefined;

  /** Something ended, and its place is free. */
  noteEnd(now: number): void {
    if (this.#lastEnd !== undefined) {
      const interval = now - this.#lastEnd;
      this.#interval = (this.#interval ?? interval) * (1 - INTERVAL_WEIGHT) + interval * INTERVAL_WEIGHT;
    }
    this.#lastEnd = now;
  }

  /** Milliseconds after which a place in the queue should be free, by the pace so far. */
  get msUntilPlace(): number {
    return Math.ceil(Math.max(MIN_RETRY_MS, this.#interval ?? 0));
  }
}
