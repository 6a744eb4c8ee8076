import { HalfbyteError } from "../errors.ts";
import { BLOCK_TOKENS } from "../plan/plan.ts";

/** A full block whose content is known: that of its parent's text and 16 tokens more. */
export interface CachedBlock {
  /** Never used again, so that the children of a block that was evicted are not found under another. */
  readonly id: number;
  readonly block: number;
  readonly key: string;
}

/** The parent of a text's first block. */
export const ROOT = 0;

/**
 * Blocks of the key-value cache: who uses them, and what stands in those that nobody does. A full block is found by all
 * tokens up to its end, compared exactly, and shared; what is not in use is evicted least recently used first.
 */
export class BlockPool {
  readonly limit: number;
  readonly #grow: (count: number) => void;
  /** Lower than `limit` where the executor could not grow. */
  #reachable: number;
  #made = 0;
  readonly #free: number[] = [];
  readonly #users: number[] = [];
  readonly #contents: (CachedBlock | undefined)[] = [];
  readonly #byKey = new Map<string, CachedBlock>();
  /** Contents of blocks that nobody uses, least recently used first. */
  readonly #idle = new Set<CachedBlock>();
  #nextId = ROOT + 1;

  /** `grow(count)` must make room for `count` blocks in all, or throw ERR_MEMORY; `limit` is the most there may be. */
  constructor(limit: number, grow: (count: number) => void) {
    this.limit = limit;
    this.#reachable = limit;
    this.#grow = grow;
  }

  get inUse(): number {
    return this.#made - this.#free.length - this.#idle.size;
  }

  get idle(): number {
    return this.#idle.size;
  }

  /** Blocks that `take` could give. */
  get available(): number {
    return this.#reachable - this.inUse;
  }

  /** A block of one's own, or undefined while all are in use. */
  take(): number | undefined {
    const block = this.#free.pop() ?? this.#make() ?? this.#evict();
    if (block !== undefined) this.#users[block] = 1;
    return block;
  }

  /** The block that follows `parent` with the 16 tokens from `first` on, if it is known. */
  find(parent: number, tokens: ArrayLike<number>, first: number): CachedBlock | undefined {
    return this.#byKey.get(keyOf(parent, tokens, first));
  }

  /** One more user for a known block. */
  share(cached: CachedBlock): number {
    this.#idle.delete(cached);
    this.#users[cached.block]!++;
    return cached.block;
  }

  /** Makes a full block known. Where another has the same content, that one: the caller can share it and give back its own. */
  publish(block: number, parent: number, tokens: ArrayLike<number>, first: number): CachedBlock {
    const key = keyOf(parent, tokens, first);
    const known = this.#byKey.get(key);
    if (known) return known;
    const cached = { id: this.#nextId++, block, key };
    this.#contents[block] = cached;
    this.#byKey.set(key, cached);
    return cached;
  }

  /** Ends one use of a block; its content, if known, stays until its place is needed. */
  give(block: number): void {
    if (--this.#users[block]! > 0) return;
    const cached = this.#contents[block];
    if (cached) this.#idle.add(cached);
    else this.#free.push(block);
  }

  #make(): number | undefined {
    if (this.#made >= this.#reachable) return undefined;
    try {
      this.#grow(this.#made + 1);
    } catch (error) {
      if (!(error instanceof HalfbyteError && error.code === "ERR_MEMORY")) throw error;
      this.#reachable = this.#made;
      return undefined;
    }
    return this.#made++;
  }

  #evict(): number | undefined {
    for (const cached of this.#idle) {
      this.#idle.delete(cached);
      this.#byKey.delete(cached.key);
      this.#contents[cached.block] = undefined;
      return cached.block;
    }
    return undefined;
  }
}

function keyOf(parent: number, tokens: ArrayLike<number>, first: number): string {
  let key = `${parent}`;
  for (let i = first; i < first + BLOCK_TOKENS; i++) key += `,${tokens[i]}`;
  return key;
}
