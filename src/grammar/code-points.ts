import type { Expression, ExpressionPool } from "./expression.ts";

/** A set of code points as ascending ranges: from, to (both within), from, to … Surrogates are never in one. */
export type CodePoints = readonly number[];

const MAX_CODE_POINT = 0x10ffff;

export const ALL_CODE_POINTS: CodePoints = [0, 0xd7ff, 0xe000, MAX_CODE_POINT];

/** Ranges in any order, overlapping or not, as a set. */
export function codePoints(ranges: readonly (readonly [number, number])[]): CodePoints {
  const sorted = ranges.filter(([from, to]) => from <= to).sort((a, b) => a[0] - b[0]);
  const set: number[] = [];
  for (const [from, to] of sorted) {
    if (set.length > 0 && from <= set.at(-1)! + 1) set[set.length - 1] = Math.max(set.at(-1)!, to);
    else set.push(from, to);
  }
  return intersect(set, ALL_CODE_POINTS);
}

export function codePointsOf(text: string): CodePoints {
  return codePoints(Array.from(text, (character) => [character.codePointAt(0)!, character.codePointAt(0)!]));
}

export function unite(...sets: readonly CodePoints[]): CodePoints {
  return codePoints(sets.flatMap((set) => ranges(set)));
}

export function intersect(a: CodePoints, b: CodePoints): CodePoints {
  const set: number[] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const from = Math.max(a[i]!, b[j]!);
    const to = Math.min(a[i + 1]!, b[j + 1]!);
    if (from <= to) set.push(from, to);
    if (a[i + 1]! < b[j + 1]!) i += 2;
    else j += 2;
  }
  return set;
}

/** All code points that are not in the set. */
export function complement(set: CodePoints): CodePoints {
  const rest: number[] = [];
  let from = 0;
  for (let i = 0; i < set.length; i += 2) {
    if (set[i]! > from) rest.push(from, set[i]! - 1);
    from = set[i + 1]! + 1;
  }
  if (from <= MAX_CODE_POINT) rest.push(from, MAX_CODE_POINT);
  return intersect(rest, ALL_CODE_POINTS);
}

export function contains(set: CodePoints, codePoint: number): boolean {
  let low = 0;
  let high = set.length / 2;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (set[2 * middle + 1]! < codePoint) low = middle + 1;
    else high = middle;
  }
  return 2 * low < set.length && set[2 * low]! <= codePoint;
}

export function ranges(set: CodePoints): [number, number][] {
  const pairs: [number, number][] = [];
  for (let i = 0; i < set.length; i += 2) pairs.push([set[i]!, set[i + 1]!]);
  return pairs;
}

/** The last code point of one, two and three bytes. */
const LENGTH_ENDS = [0x7f, 0x7ff, 0xffff, MAX_CODE_POINT];

/** One code point of the set, in UTF-8. */
export function utf8(pool: ExpressionPool, set: CodePoints): Expression {
  const ascii = new Uint8Array(256);
  const longer: Expression[] = [];
  for (const [from, to] of ranges(set)) {
    ascii.fill(1, Math.min(from, 0x80), Math.min(to + 1, 0x80));
    for (let low = Math.max(from, 0x80); low <= to; ) {
      const high = Math.min(to, LENGTH_ENDS.find((end) => low <= end)!);
      encodedRange(pool, encode(low), encode(high), 0, longer);
      low = high + 1;
    }
  }
  return ascii.includes(1) ? pool.choice(pool.bytes(ascii), ...longer) : pool.choice(...longer);
}

function encode(codePoint: number): Uint8Array {
  return new TextEncoder().encode(String.fromCodePoint(codePoint));
}

/** Appends what covers all byte texts from `low` to `high`, of one length, from byte `at` on. */
function encodedRange(pool: ExpressionPool, low: Uint8Array, high: Uint8Array, at: number, out: Expression[]): void {
  const [a, b] = [low[at]!, high[at]!];
  if (at === low.length - 1) {
    out.push(pool.byteRange(a, b));
    return;
  }
  const tail = (from: Uint8Array, to: Uint8Array): Expression => {
    const tails: Expression[] = [];
    encodedRange(pool, from, to, at + 1, tails);
    return pool.choice(...tails);
  };
  const lowest = low.map((byte, i) => (i > at ? 0x80 : byte));
  const highest = low.map((byte, i) => (i > at ? 0xbf : byte));
  if (a === b) {
    out.push(pool.sequence(pool.byte(a), tail(low, high)));
    return;
  }
  const startsWhole = low.every((byte, i) => i <= at || byte === 0x80);
  const endsWhole = high.every((byte, i) => i <= at || byte === 0xbf);
  if (!startsWhole) out.push(pool.sequence(pool.byte(a), tail(low, highest)));
  const from = startsWhole ? a : a + 1;
  const to = endsWhole ? b : b - 1;
  if (from <= to) out.push(pool.sequence(pool.byteRange(from, to), tail(lowest, highest)));
  if (!endsWhole) out.push(pool.sequence(pool.byte(b), tail(lowest, high)));
}
