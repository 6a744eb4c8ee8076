import type { Tokenizer } from "../../text/tokenizer.ts";

/** Guesses what another model will say. A `Model` is one. */
export interface DraftModel {
  /** Must have as many tokens as that of the model it guesses for. */
  readonly tokenizer: Pick<Tokenizer, "vocabularySize">;
  /** A place in its cache for one text that grows; close it when done. */
  openDraft(): Promise<DraftSequence>;
}

export interface DraftSequence {
  /** What it would say next after `tokens`, `count` tokens at most; none where it cannot say. One call at a time. */
  propose(tokens: ArrayLike<number>, count: number): Promise<ArrayLike<number>>;
  close(): void;
}
