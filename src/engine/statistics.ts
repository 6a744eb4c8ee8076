/** A moment of an engine, and what it counted since it was made. */
export interface EngineStatistics {
  /** Generations that have their turn in every step. */
  readonly running: number;
  readonly waiting: number;
  /** Blocks of 16 tokens in the cache: in use by generations, kept for reuse, and the most there may be. */
  readonly blocksInUse: number;
  readonly blocksCached: number;
  readonly blocksTotal: number;
  readonly blockBytes: number;
  /** Tokens of prompts that were computed, recomputing after preemption included. */
  readonly promptTokensComputed: number;
  readonly generatedTokens: number;
  /** Prompt tokens looked up in the cache, and found there. */
  readonly prefixQueryTokens: number;
  readonly prefixHitTokens: number;
  readonly preemptions: number;
  readonly steps: number;
  readonly draftTokens: number;
  readonly acceptedDraftTokens: number;
  readonly finished: number;
  readonly failed: number;
}
