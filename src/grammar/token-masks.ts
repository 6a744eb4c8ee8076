import type { ExpressionPool } from "./expression.ts";
import { grammarError } from "./grammar-error.ts";
import { NOT_PLAIN, plainRoom } from "./plain-text.ts";
import type { Recogniser, StackSet } from "./recogniser.ts";
import { buildTrie, type ConstraintTokenizer, type VocabularyTrie } from "./vocabulary-trie.ts";

/**
 * Tokens up to this many bytes are walked on stacks cut off below, and what is found serves wherever the tops of the
 * stacks are the same. Of 49,152 and of 262,144 entries all but 1 % are that short, and counters above it are alike.
 */
const SHORT_BYTES = 16;
/** What stays of a stack below its top: in a JSON string the rest of a character, of the string, and the quote. */
const KEPT_DEPTH = 4;
/** Masks and tables kept for reuse. */
const MAX_KEPT_BYTES = 32 << 20;

/** The vocabulary as trees, made once for each tokenizer. */
interface VocabularyTries {
  readonly short: VocabularyTrie;
  readonly long: VocabularyTrie;
}

const tries = new WeakMap<ConstraintTokenizer, VocabularyTries>();

function triesOf(tokenizer: ConstraintTokenizer): VocabularyTries {
  let known = tries.get(tokenizer);
  if (!known) {
    known = {
      short: buildTrie(tokenizer, 1, SHORT_BYTES),
      long: buildTrie(tokenizer, SHORT_BYTES + 1, Number.MAX_SAFE_INTEGER),
    };
    tries.set(tokenizer, known);
  }
  return known;
}

/** What a walk on cut stacks tells: the tokens that surely fit, and the nodes where the text left what was kept. */
interface CutTable {
  readonly bits: Uint32Array;
  readonly exits: readonly { readonly node: number; readonly holes: readonly number[] }[];
}

/** A special token that the grammar may use by its text. */
export interface Marker {
  readonly id: number;
  readonly bytes: Uint8Array;
}

/** Finds the tokens that can follow a set of stacks. */
export class TokenMasks {
  readonly #pool: ExpressionPool;
  readonly #recogniser: Recogniser;
  readonly #tokenizer: ConstraintTokenizer;
  readonly #tries: VocabularyTries;
  readonly #markers: readonly Marker[];
  readonly #words: number;
  readonly #masks = new Map<StackSet, Uint32Array>();
  readonly #tables = new Map<StackSet, CutTable>();
  /** Sets along the path of a walk. */
  readonly #path: StackSet[] = [];
  #tableBytes = 0;

  constructor(
    pool: ExpressionPool,
    recogniser: Recogniser,
    tokenizer: ConstraintTokenizer,
    markers: readonly Marker[],
    vocabularySize: number,
  ) {
    this.#pool = pool;
    this.#recogniser = recogniser;
    this.#tokenizer = tokenizer;
    this.#tries = triesOf(tokenizer);
    this.#markers = markers;
    this.#words = Math.ceil(vocabularySize / 32);
  }

  /** Bits of the tokens that keep the text a beginning of the language, and of end tokens where it may end. */
  of(set: StackSet): Uint32Array {
    const known = this.#masks.get(set);
    if (known) return known;
    this.#recogniser.beginQuestion();
    const mask = this.#compute(set);
    if (!mask.some((word) => word !== 0))
      throw grammarError("no token of the vocabulary can come next", "constraint", {
        remedy: "this tokenizer cannot spell what the grammar asks for",
      });
    if ((this.#masks.size + 1) * this.#words * 4 > MAX_KEPT_BYTES)
      for (const oldest of this.#masks.keys()) {
        this.#masks.delete(oldest);
        break;
      }
    this.#masks.set(set, mask);
    return mask;
  }

  /** The set after some bytes. */
  advance(set: StackSet, bytes: Uint8Array): StackSet {
    const { classOfByte } = this.#pool;
    let at = set;
    for (const byte of bytes) {
      at = this.#recogniser.step(at, classOfByte[byte]!);
      if (at === this.#recogniser.dead) break;
    }
    return at;
  }

  #compute(set: StackSet): Uint32Array {
    const { short, long } = this.#tries;
    const holes: StackSet[] = [];
    const cut = this.#cut(set, KEPT_DEPTH, holes);
    const table = this.#table(cut);
    const mask = table.bits.slice();
    for (const { node, holes: numbers } of table.exits)
      for (const number of numbers) this.#walk(short, node, this.#recogniser.open(holes[number]!), mask);
    this.#walk(long, 0, set, mask);
    for (const { id, bytes } of this.#markers) if (this.advance(set, bytes) !== this.#recogniser.dead) allow(mask, id);
    if (set.accepts) for (const id of this.#tokenizer.endOfGenerationIds) allow(mask, id);
    return mask;
  }

  /** The same stacks down to a depth, holes below; what the holes stand for is appended to `holes`. */
  #cut(set: StackSet, depth: number, holes: StackSet[]): StackSet {
    if (set.entries.length === 0) return set;
    if (depth === 0) {
      let number = holes.indexOf(set);
      if (number < 0) number = holes.push(set) - 1;
      return this.#recogniser.push(this.#pool.hole(number), this.#recogniser.end);
    }
    const entries = set.entries.map(({ expression, below }) => ({
      expression: this.#clamp(expression),
      below: this.#cut(below, depth - 1, holes),
    }));
    return this.#recogniser.make(entries, set.accepts);
  }

  /** Counts that no short token can use up are alike. */
  #clamp(expression: ReturnType<ExpressionPool["hole"]>): ReturnType<ExpressionPool["hole"]> {
    if (expression.kind !== "repeat") return expression;
    const { item, min, max } = expression;
    return this.#pool.repeat(item, Math.min(min, SHORT_BYTES + 1), max > SHORT_BYTES ? Infinity : max);
  }

  #table(cut: StackSet): CutTable {
    const known = this.#tables.get(cut);
    if (known) return known;
    const bits = new Uint32Array(this.#words);
    const exits: { node: number; holes: number[] }[] = [];
    this.#walk(this.#tries.short, 0, cut, bits, exits);
    const table: CutTable = { bits, exits };
    this.#tableBytes += bits.byteLength + exits.length * 64;
    if (this.#tableBytes > MAX_KEPT_BYTES) {
      this.#tables.clear();
      this.#tableBytes = bits.byteLength;
    }
    this.#tables.set(cut, table);
    return table;
  }

  /** Sets the bits of all tokens in the subtree below `node` whose further bytes can follow `from`. */
  #walk(
    trie: VocabularyTrie,
    node: number,
    from: StackSet,
    bits: Uint32Array,
    exits?: { node: number; holes: number[] }[],
  ): void {
    const { byte, depth, after, plain, idStart, ids } = trie;
    const { classOfByte } = this.#pool;
    const recogniser = this.#recogniser;
    const { dead } = recogniser;
    const path = this.#path;
    path[depth[node]!] = from;
    const end = after[node]!;
    for (let at = node + 1; at < end; ) {
      const level = depth[at]!;
      const byteClass = classOfByte[byte[at]!]!;
      const parent = path[level - 1]!;
      const set = parent.next[byteClass] ?? recogniser.step(parent, byteClass);
      if (set === dead) {
        at = after[at]!;
        continue;
      }
      const length = plain[at]!;
      if (length !== NOT_PLAIN && length <= (set.plainRoom ??= plainRoom(recogniser, set, classOfByte))) {
        for (let i = idStart[at]!; i < idStart[after[at]!]!; i++) allow(bits, ids[i]!);
        at = after[at]!;
        continue;
      }
      for (let i = idStart[at]!; i < idStart[at + 1]!; i++) allow(bits, ids[i]!);
      // Holes have the highest ids only by chance, so look at all of the few entries.
      if (exits && after[at]! > at + 1) noteHoles(set, at, exits);
      path[level] = set;
      at++;
    }
  }
}

function noteHoles(set: StackSet, node: number, exits: { node: number; holes: number[] }[]): void {
  let holes: number[] | undefined;
  for (const { expression } of set.entries) if (expression.kind === "hole") (holes ??= []).push(expression.number);
  if (holes) exits.push({ node, holes });
}

function allow(bits: Uint32Array, id: number): void {
  bits[id >>> 5]! |= 1 << (id & 31);
}
