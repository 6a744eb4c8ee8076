import { blocksFor } from "../plan/cache-layout.ts";
import { BLOCK_TOKENS } from "../plan/plan.ts";
import { type BlockPool, ROOT } from "./block-pool.ts";

/** A text that grows, and the cache blocks with the keys and values of its first tokens. */
export class Sequence {
  readonly tokens: number[];
  /** Tokens that will not change: only their blocks are left to others. */
  certain: number = Number.POSITIVE_INFINITY;
  /** Finds blocks that others left, and leaves its own. */
  readonly shares: boolean;
  readonly #pool: BlockPool;
  #computed = 0;
  #blocks = new Int32Array(8);
  #blockCount = 0;
  /** Ids of the full blocks that are known to the pool. */
  #chain: number[] = [];

  constructor(pool: BlockPool, prompt: ArrayLike<number>, shares: boolean) {
    this.tokens = Array.from(prompt);
    this.#pool = pool;
    this.shares = shares;
  }

  /** Tokens whose keys and values are in the cache. */
  get computed(): number {
    return this.#computed;
  }

  /** Tokens that are still to go through the model. */
  get pending(): number {
    return this.tokens.length - this.#computed;
  }

  get blocks(): Int32Array {
    return this.#blocks.subarray(0, this.#blockCount);
  }

  /** Blocks to be taken until `length` tokens have room. */
  missing(length: number): number {
    return Math.max(0, blocksFor(length) - this.#blockCount);
  }

  /** Makes room for `length` tokens, as far as there are blocks, and says how many have room now. */
  reserve(length: number): number {
    const needed = blocksFor(length);
    while (this.#blockCount < needed) {
      const block = this.#pool.take();
      if (block === undefined) break;
      this.#append(block);
    }
    return Math.min(length, this.#blockCount * BLOCK_TOKENS);
  }

  /** Goes on past tokens that stand in the cache already, all but the last of the text at most; says how many. */
  adopt(): number {
    const before = this.#computed;
    if (!this.shares || before % BLOCK_TOKENS || before / BLOCK_TOKENS !== this.#chain.length) return 0;
    while (this.#computed + BLOCK_TOKENS < this.tokens.length) {
      const found = this.#pool.find(this.#chain.at(-1) ?? ROOT, this.tokens, this.#computed);
      if (!found) break;
      for (const spare of this.#blocks.subarray(this.#chain.length, this.#blockCount)) this.#pool.give(spare);
      this.#blockCount = this.#chain.length;
      this.#append(this.#pool.share(found));
      this.#chain.push(found.id);
      this.#computed += BLOCK_TOKENS;
    }
    return this.#computed - before;
  }

  /** The next `count` tokens have gone through the model. */
  advance(count: number): void {
    this.#computed += count;
    if (!this.shares) return;
    for (let b = this.#chain.length; (b + 1) * BLOCK_TOKENS <= Math.min(this.#computed, this.certain); b++) {
      const own = this.#blocks[b]!;
      const known = this.#pool.publish(own, this.#chain.at(-1) ?? ROOT, this.tokens, b * BLOCK_TOKENS);
      if (known.block !== own) {
        this.#blocks[b] = this.#pool.share(known);
        this.#pool.give(own);
      }
      this.#chain.push(known.id);
    }
  }

  /** Makes this the text, all of it certain, and keeps what was computed of the same beginning. */
  rewrite(tokens: ArrayLike<number>): void {
    let same = 0;
    while (same < tokens.length && this.tokens[same] === tokens[same]) same++;
    if (same < this.#chain.length * BLOCK_TOKENS) this.release();
    this.tokens.length = same;
    for (let i = same; i < tokens.length; i++) this.tokens.push(tokens[i]!);
    this.#computed = Math.min(this.#computed, same, tokens.length - 1);
    this.certain = tokens.length;
  }

  /** Gives all blocks back; the tokens must be computed again. */
  release(): void {
    // The end first: it is worth less to others than the beginning.
    for (let b = this.#blockCount - 1; b >= 0; b--) this.#pool.give(this.#blocks[b]!);
    this.#blockCount = 0;
    this.#chain = [];
    this.#computed = 0;
  }

  #append(block: number): void {
    if (this.#blockCount === this.#blocks.length) {
      const larger = new Int32Array(this.#blocks.length * 2);
      larger.set(this.#blocks);
      this.#blocks = larger;
    }
    this.#blocks[this.#blockCount++] = block;
  }
}
