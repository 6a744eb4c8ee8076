/** Guesses what another model will say. A `Model` is one. */
export interface DraftModel {
  /** A place in its cache for one text that grows; close it when done. */
  openDraft(): DraftSequence;
}

export interface DraftSequence {
  /** What it would say next after `tokens`, `count` tokens at most; none where it cannot say. */
  propose(tokens: ArrayLike<number>, count: number): Promise<Int32Array>;
  close(): void;
}
