import type { BlockPool } from "./block-pool.ts";
import { Sequence } from "./sequence.ts";
import type { Work } from "./work.ts";

/** A piece of work in the engine, with its place in the cache. */
export class Job {
  readonly work: Work;
  readonly sequence: Sequence;
  /** Tokens guessed for the next step. */
  guesses: ArrayLike<number> = [];
  /** Positions of the prompt whose logits or states were read. */
  readUntil = 0;
  /** Prompt tokens that stood in the cache when it came to them. */
  cached = 0;
  preempted = false;
  /** Out of the engine: what a step under way computes for it is dropped. */
  over = false;

  constructor(work: Work, pool: BlockPool) {
    this.work = work;
    this.sequence = work.sequence ?? new Sequence(pool, work.prompt, work.shares && work.reads === "last");
  }

  /** Goes past what stands in the cache. */
  adopt(): void {
    const found = this.sequence.adopt();
    // What a preempted sequence finds is its own.
    if (!this.preempted) this.cached += found;
  }

  /** Gives all blocks back, but those that the work keeps when it is over. */
  release(): void {
    if (this.over && this.work.keepsSequence?.()) return;
    this.sequence.release();
    if (!this.preempted && !this.over) this.cached = 0;
  }
}
