/** Something that needs memory from its first to its last op. */
export interface Lifetime {
  readonly bytes: number;
  first: number;
  last: number;
}

/**
 * Offsets such that lifetimes that overlap do not share bytes: each, in order of its first op, takes the lowest gap
 * among those still alive. Sizes must be multiples of 64; so are the offsets.
 */
export function assignArena<T extends Lifetime>(lifetimes: readonly T[]): { offsets: Map<T, number>; bytes: number } {
  const offsets = new Map<T, number>();
  let alive: T[] = [];
  let bytes = 0;
  for (const item of [...lifetimes].sort((a, b) => a.first - b.first)) {
    alive = alive.filter((other) => other.last >= item.first).sort((a, b) => offsets.get(a)! - offsets.get(b)!);
    let offset = 0;
    for (const other of alive) {
      if (offset + item.bytes <= offsets.get(other)!) break;
      offset = offsets.get(other)! + other.bytes;
    }
    offsets.set(item, offset);
    alive.push(item);
    bytes = Math.max(bytes, offset + item.bytes);
  }
  return { offsets, bytes };
}
