import { HalfbyteError } from "../errors.ts";
import { NO_MERGE, type PairRanks } from "./pair-merger.ts";
import { TokenKind, type Vocabulary } from "./vocabulary.ts";

/** Larger lists than any known one (Gemma 3: 514,906), under the 2^21 ranks that pair-merger.ts can hold. */
const MAX_MERGES = 1 << 20;

// See vocabulary.ts: more steps than this mean pairs chosen to collide.
const MAX_PROBES = 1024;

/** A list of merges: the earlier a pair stands in it, the lower its rank. */
export class MergeList implements PairRanks {
  readonly #left: Int32Array;
  readonly #right: Int32Array;
  readonly #merged: Int32Array;
  readonly #slots: Int32Array;
  readonly #mask: number;
  #count = 0;

  /** Room for `capacity` merges; throws ERR_LIMIT past `MAX_MERGES`. */
  constructor(capacity: number) {
    checkCapacity(capacity);
    this.#left = new Int32Array(capacity);
    this.#right = new Int32Array(capacity);
    this.#merged = new Int32Array(capacity);
    const slotCount = 2 ** Math.ceil(Math.log2(Math.max(2 * capacity, 2)));
    this.#slots = new Int32Array(slotCount);
    this.#mask = slotCount - 1;
  }

  /** Appends a merge; a pair that is already in the list keeps its first rank. */
  add(left: number, right: number, merged: number): void {
    let slot = hashPair(left, right) & this.#mask;
    for (let probes = 0; this.#slots[slot] !== 0; probes++) {
      const rank = this.#slots[slot]! - 1;
      if (this.#left[rank] === left && this.#right[rank] === right) return;
      if (probes === MAX_PROBES) {
        throw new HalfbyteError("ERR_LIMIT", "too many merges share a hash", { place: "tokenizer" });
      }
      slot = (slot + 1) & this.#mask;
    }
    const rank = this.#count++;
    this.#left[rank] = left;
    this.#right[rank] = right;
    this.#merged[rank] = merged;
    this.#slots[slot] = rank + 1;
  }

  rank(left: number, right: number): number {
    for (let slot = hashPair(left, right) & this.#mask; this.#slots[slot] !== 0; slot = (slot + 1) & this.#mask) {
      const rank = this.#slots[slot]! - 1;
      if (this.#left[rank] === left && this.#right[rank] === right) return rank;
    }
    return NO_MERGE;
  }

  merged(rank: number): number {
    return this.#merged[rank]!;
  }
}

function checkCapacity(capacity: number): void {
  if (capacity > MAX_MERGES) {
    throw new HalfbyteError("ERR_LIMIT", "too many merges", {
      place: "tokenizer",
      expected: `at most ${MAX_MERGES}`,
      got: String(capacity),
    });
  }
}

function hashPair(left: number, right: number): number {
  const mixed = Math.imul(Math.imul(left, 0x9e3779b1) ^ right, 0x85ebca6b);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}

/**
 * A list of merges between entries that are found by their bytes: a pair is known by the entry it makes and by how many
 * bytes of that are the left one's. Takes a third of the time of a `MergeList` to make.
 */
export class SpeltMerges implements PairRanks {
  readonly #vocabulary: Vocabulary;
  readonly #merged: Int32Array;
  readonly #leftBytes: Int32Array;
  /** The first merge of each entry, and after each merge the next that makes the same entry, all plus 1; 0 for none. */
  readonly #first: Int32Array;
  readonly #next: Int32Array;
  #count = 0;

  /** Room for `capacity` merges; throws ERR_LIMIT past `MAX_MERGES`. */
  constructor(vocabulary: Vocabulary, capacity: number) {
    checkCapacity(capacity);
    this.#vocabulary = vocabulary;
    this.#merged = new Int32Array(capacity);
    this.#leftBytes = new Int32Array(capacity);
    this.#first = new Int32Array(vocabulary.size);
    this.#next = new Int32Array(capacity);
  }

  /** Appends the merge that makes an entry of its first `leftBytes` bytes and the rest; the first of equal ones counts. */
  add(merged: number, leftBytes: number): void {
    let last = 0;
    let links = 0;
    for (let at = this.#first[merged]!; at !== 0; at = this.#next[at - 1]!) {
      if (this.#leftBytes[at - 1] === leftBytes) return;
      if (links++ === MAX_PROBES) {
        throw new HalfbyteError("ERR_LIMIT", "too many merges make one entry", { place: "tokenizer" });
      }
      last = at;
    }
    const rank = this.#count++;
    this.#merged[rank] = merged;
    this.#leftBytes[rank] = leftBytes;
    if (last === 0) this.#first[merged] = rank + 1;
    else this.#next[last - 1] = rank + 1;
  }

  rank(left: number, right: number): number {
    const merged = this.#vocabulary.findPair(left, right);
    if (merged === undefined) return NO_MERGE;
    const leftBytes = this.#vocabulary.byteLength(left);
    for (let at = this.#first[merged]!; at !== 0; at = this.#next[at - 1]!)
      if (this.#leftBytes[at - 1] === leftBytes) return at - 1;
    return NO_MERGE;
  }

  merged(rank: number): number {
    return this.#merged[rank]!;
  }
}

/** SentencePiece has no list: any two entries that spell a third merge into it, best score first. */
export class ScoredPieces implements PairRanks {
  readonly #vocabulary: Vocabulary;
  /** Rank of each entry and entry of each rank; undefined while both are the id itself. */
  readonly #rankOfId: Int32Array | undefined;
  readonly #idOfRank: Int32Array | undefined;

  constructor(vocabulary: Vocabulary, scores: ArrayLike<number>) {
    this.#vocabulary = vocabulary;
    if (fallsWithId(vocabulary, scores)) return;
    const order = Int32Array.from({ length: vocabulary.size }, (_, id) => id);
    order.sort((a, b) => scores[b]! - scores[a]! || a - b);
    this.#idOfRank = order;
    this.#rankOfId = new Int32Array(order.length);
    for (let rank = 0; rank < order.length; rank++) this.#rankOfId[order[rank]!] = rank;
  }

  rank(left: number, right: number): number {
    const id = this.#vocabulary.findPair(left, right);
    if (id === undefined) return NO_MERGE;
    return this.#rankOfId ? this.#rankOfId[id]! : id;
  }

  merged(rank: number): number {
    return this.#idOfRank ? this.#idOfRank[rank]! : rank;
  }
}

/** In vocabularies trained as BPE the scores are minus the order of the entries; then no sorting is needed. */
function fallsWithId(vocabulary: Vocabulary, scores: ArrayLike<number>): boolean {
  let previous = Number.POSITIVE_INFINITY;
  for (let id = 0; id < vocabulary.size; id++) {
    if (vocabulary.kinds[id] !== TokenKind.normal) continue;
    if (scores[id]! > previous) return false;
    previous = scores[id]!;
  }
  return true;
}
