import { HalfbyteError } from "../errors.ts";

/** Hands out blocks of the key-value cache; the executor's memory grows as the highest block in use does. */
export class BlockPool {
  readonly limit: number;
  readonly #grow: (count: number) => void;
  #made = 0;
  readonly #free: number[] = [];

  /** `grow(count)` must make room for `count` blocks in all; `limit` is the most there may be. */
  constructor(limit: number, grow: (count: number) => void) {
    this.limit = limit;
    this.#grow = grow;
  }

  get inUse(): number {
    return this.#made - this.#free.length;
  }

  /** A block's id. Throws ERR_MEMORY when the limit is reached or the executor cannot grow. */
  take(): number {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    if (this.#made >= this.limit)
      throw new HalfbyteError("ERR_MEMORY", "the key-value cache is full", {
        got: `${this.limit} blocks in use`,
        remedy: "end other generations or shorten the prompt",
      });
    this.#grow(this.#made + 1);
    return this.#made++;
  }

  give(block: number): void {
    this.#free.push(block);
  }
}
