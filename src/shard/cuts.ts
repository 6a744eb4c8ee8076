import { HalfbyteError } from "../errors.ts";

/** Which of the ranks that share a model. */
export interface ShardOptions {
  /** From 0. */
  readonly rank: number;
  /** How many ranks there are. */
  readonly of: number;
}

/** `first … end − 1`. */
export interface Range {
  readonly first: number;
  readonly end: number;
}

/** More ranks than any machine room has that would run a model on CPUs. */
const MAX_RANKS = 1024;

/** Throws ERR_ARGUMENT unless there is such a rank. */
export function checkRank(shard: ShardOptions): void {
  // Callers without types can pass anything.
  const { rank, of } = Object(shard) as ShardOptions;
  const fail = (place: string, expected: string, got: unknown): never => {
    throw new HalfbyteError("ERR_ARGUMENT", "no such shard", { place, expected, got: String(got) });
  };
  if (!Number.isSafeInteger(of) || of < 1 || of > MAX_RANKS) fail("shard.of", `1 to ${MAX_RANKS}`, of);
  if (!Number.isSafeInteger(rank) || rank < 0 || rank >= of) fail("shard.rank", `0 to ${of - 1}`, rank);
}

/** The share of one of `of` in `total`: shares differ by 1 at most, and the first are the larger. */
function share(total: number, { rank, of }: ShardOptions): Range {
  const before = (r: number): number => r * Math.floor(total / of) + Math.min(r, total % of);
  return { first: before(rank), end: before(rank + 1) };
}

/**
 * The share of a rank in `total`, cut at multiples of the first of `units` of which there is one for each rank. Throws
 * ERR_UNSUPPORTED where there is none; `what` is for the message.
 */
export function shareOfUnits(total: number, units: readonly number[], shard: ShardOptions, what: string): Range {
  const unit = units.find((each) => Math.ceil(total / each) >= shard.of);
  if (unit === undefined)
    throw new HalfbyteError("ERR_UNSUPPORTED", `too few ${what} for so many ranks`, {
      expected: `at most ${Math.ceil(total / units.at(-1)!)} ranks`,
      got: String(shard.of),
    });
  const { first, end } = share(Math.ceil(total / unit), shard);
  return { first: first * unit, end: Math.min(total, end * unit) };
}

/** Heads of queries, and the heads of keys and values that they read. */
export interface HeadShare {
  readonly heads: Range;
  readonly kvHeads: Range;
}

/**
 * The heads of a rank. While there are key-value heads enough, each rank has some of its own, with all the queries that
 * read them; where ranks are more, several have the same key-value head and share its queries, so that a rank's queries
 * always go evenly to its key-value heads. Throws ERR_UNSUPPORTED where a rank would have no query head.
 */
export function shareOfHeads(heads: number, kvHeads: number, shard: ShardOptions): HeadShare {
  const perKey = heads / kvHeads;
  if (shard.of <= kvHeads) {
    const keys = share(kvHeads, shard);
    return { kvHeads: keys, heads: { first: keys.first * perKey, end: keys.end * perKey } };
  }
  for (let key = 0; key < kvHeads; key++) {
    const ranks = share(shard.of, { rank: key, of: kvHeads });
    if (shard.rank >= ranks.end) continue;
    const sharers = { rank: shard.rank - ranks.first, of: ranks.end - ranks.first };
    if (sharers.of > perKey) break;
    const { first, end } = share(perKey, sharers);
    return {
      kvHeads: { first: key, end: key + 1 },
      heads: { first: key * perKey + first, end: key * perKey + end },
    };
  }
  throw new HalfbyteError("ERR_UNSUPPORTED", "too few heads for so many ranks", {
    expected: `at most ${heads} ranks, that share ${kvHeads} key-value heads`,
    got: String(shard.of),
  });
}
