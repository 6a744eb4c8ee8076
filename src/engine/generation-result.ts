/** Why an answer ended: an end token or stop text, the token limit, or the consumer. */
export type FinishReason = "stop" | "length" | "cancelled";

export interface GeneratedToken {
  readonly id: number;
  /** Its own text, by itself: may be part of a character, shown as U+FFFD. */
  readonly text: string;
  readonly logprob?: number;
  readonly top?: readonly { readonly id: number; readonly text: string; readonly logprob: number }[];
}

/** What a step or several added to an answer. */
export interface GenerationEvent {
  /** Text that has become certain; may be empty, and may lag behind the tokens. */
  readonly text: string;
  /** Tokens since the last event, an end token among them. */
  readonly tokens: readonly GeneratedToken[];
}

export interface Usage {
  readonly promptTokens: number;
  /** Of these, how many an earlier generation had left in the cache. */
  readonly cachedTokens: number;
  readonly completionTokens: number;
}

export interface Timings {
  /** From the start of the generation to its first token. */
  readonly firstTokenMs: number;
  /** Of this, the time in the queue. */
  readonly queueMs: number;
  /** Prompt tokens computed per second. */
  readonly prefillTokensPerSecond: number;
  /** Tokens after the first, per second; 0 when there is but one. */
  readonly decodeTokensPerSecond: number;
}

/** How guessing ahead went. */
export interface SpeculationUsage {
  readonly proposedTokens: number;
  readonly acceptedTokens: number;
}

export interface GenerationResult {
  readonly text: string;
  readonly finishReason: FinishReason;
  /** The stop text that ended the answer, if one did. */
  readonly stop?: string;
  readonly tokens: readonly GeneratedToken[];
  /** With `promptLogprobs`: the prompt's tokens; the first has no log-probability. */
  readonly promptTokens?: readonly GeneratedToken[];
  readonly usage: Usage;
  readonly timings: Timings;
  readonly speculation: SpeculationUsage;
  /** The seed that repeats this answer. */
  readonly seed: number;
}
