/** No merge joins these two. */
export const NO_MERGE: number = 0x7fffffff;

/** Which neighbours merge, which pair first, and into what. Ranks are integers under 2^21; the lowest goes first. */
export interface PairRanks {
  /** The rank of joining two entries, or `NO_MERGE`. */
  rank(left: number, right: number): number;
  /** The entry that a merge of this rank makes. */
  merged(rank: number): number;
}

// Up to here scanning the word for its best pair is faster than a heap.
const SCAN_LIMIT = 24;

/**
 * Merges neighbours in place, lowest rank first and leftmost among equals, until no pair is left; returns the new count.
 * A negative symbol never merges. Takes O(n log n) time and about 40 bytes for each symbol, whatever the text.
 */
export function mergePairs(symbols: Int32Array, count: number, ranks: PairRanks): number {
  return count <= SCAN_LIMIT ? mergeByScan(symbols, count, ranks) : mergeByHeap(symbols, count, ranks);
}

function rankOf(symbols: Int32Array, left: number, right: number, ranks: PairRanks): number {
  const a = symbols[left]!;
  const b = symbols[right]!;
  return a < 0 || b < 0 ? NO_MERGE : ranks.rank(a, b);
}

const scanRanks: Int32Array = new Int32Array(SCAN_LIMIT);

function mergeByScan(symbols: Int32Array, count: number, ranks: PairRanks): number {
  const pairs = scanRanks;
  for (let i = 0; i + 1 < count; i++) pairs[i] = rankOf(symbols, i, i + 1, ranks);
  let length = count;
  while (length > 1) {
    let best = 0;
    for (let i = 1; i + 1 < length; i++) if (pairs[i]! < pairs[best]!) best = i;
    const rank = pairs[best]!;
    if (rank === NO_MERGE) break;
    symbols[best] = ranks.merged(rank);
    symbols.copyWithin(best + 1, best + 2, length);
    pairs.copyWithin(best, best + 1, length - 1);
    length--;
    if (best > 0) pairs[best - 1] = rankOf(symbols, best - 1, best, ranks);
    if (best + 1 < length) pairs[best] = rankOf(symbols, best, best + 1, ranks);
  }
  return length;
}

// A key is rank · 2^32 + position, exact in a double while ranks stay under 2^21.
const POSITIONS = 2 ** 32;

function mergeByHeap(symbols: Int32Array, count: number, ranks: PairRanks): number {
  const next = new Int32Array(count);
  const previous = new Int32Array(count);
  // The rank of each living symbol with its right neighbour: a key that says otherwise is out of date.
  const pairs = new Int32Array(count).fill(NO_MERGE);
  const heap = new KeyHeap(3 * count);
  for (let i = 0; i < count; i++) {
    previous[i] = i - 1;
    next[i] = i + 1;
    if (i + 1 < count) pairs[i] = rankOf(symbols, i, i + 1, ranks);
    if (pairs[i] !== NO_MERGE) heap.push(pairs[i]! * POSITIONS + i);
  }
  const refresh = (left: number): void => {
    const right = next[left]!;
    pairs[left] = right < count ? rankOf(symbols, left, right, ranks) : NO_MERGE;
    if (pairs[left] !== NO_MERGE) heap.push(pairs[left]! * POSITIONS + left);
  };
  while (heap.size > 0) {
    const key = heap.pop();
    const rank = Math.floor(key / POSITIONS);
    const left = key - rank * POSITIONS;
    if (pairs[left] !== rank) continue;
    const right = next[left]!;
    symbols[left] = ranks.merged(rank);
    next[left] = next[right]!;
    if (next[left]! < count) previous[next[left]!] = left;
    pairs[right] = NO_MERGE;
    refresh(left);
    if (previous[left]! >= 0) refresh(previous[left]!);
  }
  let length = 0;
  for (let i = 0; i < count; i = next[i]!) symbols[length++] = symbols[i]!;
  return length;
}

/** A binary heap of numbers, lowest first, with room for a known number of them. */
class KeyHeap {
  size = 0;
  readonly #keys: Float64Array;

  constructor(capacity: number) {
    this.#keys = new Float64Array(capacity);
  }

  push(key: number): void {
    const keys = this.#keys;
    let at = this.size++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (keys[parent]! <= key) break;
      keys[at] = keys[parent]!;
      at = parent;
    }
    keys[at] = key;
  }

  pop(): number {
    const keys = this.#keys;
    const top = keys[0]!;
    const key = keys[--this.size]!;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.size) break;
      if (child + 1 < this.size && keys[child + 1]! < keys[child]!) child++;
      if (keys[child]! >= key) break;
      keys[at] = keys[child]!;
      at = child;
    }
    keys[at] = key;
    return top;
  }
}
