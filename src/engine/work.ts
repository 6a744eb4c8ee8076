import type { Sequence } from "./sequence.ts";
import type { RowCosts } from "./speculation/row-costs.ts";

/** What wants tokens from an engine: an answer, an embedding, a draft. The engine computes; it decides what comes next. */
export interface Work {
  readonly prompt: Int32Array;
  readonly user: string;
  /** When it must have ended, by `performance.now()`; Infinity: whenever. */
  readonly deadline: number;
  /** Use blocks that others left in the cache, and leave its own. */
  readonly shares: boolean;
  /** What it wants of the prompt: logits after its last token, after every one, or the last hidden state of each. */
  readonly reads: "last" | "every" | "hidden";
  /**
   * A place in the cache that it keeps from one work to the next, for as long as `keepsSequence` says so. Such work is
   * never waited for: it ends with ERR_MEMORY where there is no room at once.
   */
  readonly sequence?: Sequence;
  keepsSequence?(): boolean;
  /** Tokens that may come next, `most` at most, in a step that brings `answers` on. */
  guess?(most: number, answers: number, costs: RowCosts): ArrayLike<number> | Promise<ArrayLike<number>>;
  /** Of the tokens guessed for a step, so many were right. */
  guessed?(count: number, right: number): void;
  /** Takes logits, f32 [vocabulary], valid during the call, after a token of the prompt that is not its last. */
  read?(position: number, logits: Float32Array): void;
  /** Takes the last hidden states, f32 [rows, width], of the tokens from `position` on. */
  readHidden?(position: number, states: Float32Array, width: number): void;
  /** Takes logits after the last token and gives the next token, or undefined when there shall be none. */
  next(logits: Float32Array): number | undefined;
  /** It leaves the queue. */
  begin?(): void;
  /** Called once, unless it was cancelled: all is done, or `error` ended it. */
  end(error?: unknown): void;
}

/** The way out of an engine. */
export interface Ticket {
  /** Tokens of the prompt that stood in the cache. */
  readonly cachedTokens: number;
  /** Takes the work out of the engine, wherever it stands; its `end` is not called. */
  cancel(): void;
}
