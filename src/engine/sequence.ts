import { blocksFor } from "../plan/cache-layout.ts";
import type { BlockPool } from "./block-pool.ts";

/** A run of tokens and the cache blocks that hold their keys and values. */
export class Sequence {
  /** Tokens whose keys and values are in the cache. */
  readonly cached: number[] = [];
  readonly #pool: BlockPool;
  #blocks = new Int32Array(0);

  constructor(pool: BlockPool) {
    this.#pool = pool;
  }

  /** Logits after the last token, f32 [vocabulary]: one buffer for the sequence's life, as the runner's is anybody's. */
  logits: Float32Array = new Float32Array(0);

  keepLogits(logits: Float32Array): void {
    if (this.logits.length !== logits.length) this.logits = new Float32Array(logits.length);
    this.logits.set(logits);
  }

  get blocks(): Int32Array {
    return this.#blocks;
  }

  /** Makes sure that `tokens` positions have blocks. Throws ERR_MEMORY; what was taken until then is kept. */
  reserve(tokens: number): void {
    const needed = blocksFor(tokens);
    while (this.#blocks.length < needed) this.#blocks = Int32Array.of(...this.#blocks, this.#pool.take());
  }

  /** Forgets all tokens from position `length` on and gives back the blocks that only they needed. */
  truncate(length: number): void {
    this.cached.length = Math.min(this.cached.length, length);
    const needed = blocksFor(this.cached.length);
    for (const block of this.#blocks.subarray(needed)) this.#pool.give(block);
    this.#blocks = this.#blocks.slice(0, needed);
  }

  /** Tokens at the start that are the same in both. */
  commonPrefix(tokens: ArrayLike<number>): number {
    const limit = Math.min(this.cached.length, tokens.length);
    let length = 0;
    while (length < limit && this.cached[length] === tokens[length]) length++;
    return length;
  }
}
