import type { CompiledConstraint } from "../../src/grammar/token-constraint.ts";
import type { ConstraintTokenizer } from "../../src/grammar/vocabulary-trie.ts";

/** A generator of fractions from a seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function allowedIds(mask: Uint32Array): number[] {
  const ids: number[] = [];
  for (let word = 0; word < mask.length; word++)
    for (let bits = mask[word]!; bits !== 0; bits &= bits - 1) ids.push(word * 32 + 31 - Math.clz32(bits & -bits));
  return ids;
}

export interface WalkOptions {
  readonly random: () => number;
  /** Tokens after which the end is taken as soon as it is allowed, and bytes that bring it nearer are preferred. */
  readonly softLimit: number;
  readonly hardLimit: number;
}

/** Follows a mask at random, every token as likely as any other; undefined where the limit came before the end. */
export function randomWalk(
  constraint: CompiledConstraint,
  tokenizer: ConstraintTokenizer,
  { random, softLimit, hardLimit }: WalkOptions,
): Uint8Array | undefined {
  const place = constraint.start();
  const bytes: number[] = [];
  for (let step = 0; step < hardLimit; step++) {
    if (place.ended) return Uint8Array.from(bytes);
    let ids = allowedIds(place.mask()!);
    const end = ids.find((id) => tokenizer.endOfGenerationIds.has(id));
    if (end !== undefined && (step >= softLimit || random() < 0.3)) return Uint8Array.from(bytes);
    ids = ids.filter((id) => id !== end);
    if (step >= softLimit) {
      const closing = ids.filter((id) => /^["}\]]+$/.test(String.fromCharCode(...tokenizer.tokenBytes(id))));
      if (closing.length > 0 && random() < 0.9) ids = closing;
    }
    const id = ids[Math.floor(random() * ids.length)]!;
    place.accept(id);
    bytes.push(...tokenizer.tokenBytes(id));
  }
  return undefined;
}
