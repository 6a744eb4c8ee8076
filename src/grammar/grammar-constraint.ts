import type { Expression, ExpressionPool } from "./expression.ts";
import { grammarError } from "./grammar-error.ts";
import { afterReasoning } from "./reasoning-prefix.ts";
import { Recogniser, type StackSet } from "./recogniser.ts";
import type { CompiledConstraint, ConstraintOptions, TokenConstraint } from "./token-constraint.ts";
import { type Marker, TokenMasks } from "./token-masks.ts";
import type { ConstraintTokenizer } from "./vocabulary-trie.ts";

/** A sealed grammar with a vocabulary. */
export class GrammarConstraint implements CompiledConstraint {
  readonly #tokenizer: ConstraintTokenizer;
  readonly #masks: TokenMasks;
  readonly #recogniser: Recogniser;
  readonly #markers: ReadonlyMap<number, Uint8Array>;
  readonly #start: StackSet;

  /** Throws ERR_GRAMMAR for a grammar without a text, and as `ExpressionPool.seal` does. */
  constructor(pool: ExpressionPool, root: Expression, tokenizer: ConstraintTokenizer, options: ConstraintOptions) {
    const { reasoning, markers = [], dropsFirstSpace = false } = options;
    const whole = reasoning ? afterReasoning(pool, root, reasoning) : root;
    const spaced = pool.sequence(pool.byte(0x20), whole);
    pool.seal();
    if (!root.productive)
      throw grammarError("no answer can satisfy it", "constraint", {
        remedy: "look for parts that contradict each other, or that contain themselves without an end",
      });
    this.#tokenizer = tokenizer;
    this.#recogniser = new Recogniser(pool);
    const { close, open = "" } = reasoning ?? { close: "" };
    const special = [...new Set([...markers, open, close])].flatMap((text): Marker[] => {
      const id = tokenizer.addedTokenId(text);
      return id !== undefined && tokenizer.isSpecial(id) ? [{ id, bytes: tokenizer.tokenBytes(id) }] : [];
    });
    this.#markers = new Map(special.map(({ id, bytes }) => [id, bytes]));
    const size = Math.max(tokenizer.vocabularySize, options.vocabularySize ?? 0);
    this.#masks = new TokenMasks(pool, this.#recogniser, tokenizer, special, size);
    const start = this.#recogniser.start(whole);
    this.#start = dropsFirstSpace ? this.#withDroppedSpace(start, spaced) : start;
  }

  start(): TokenConstraint {
    return new Place(this, this.#start, false);
  }

  /** The space in front of an answer goes away, so a text that has one of its own can only come after another. */
  #withDroppedSpace(start: StackSet, spaced: Expression): StackSet {
    const more = this.#recogniser.start(spaced);
    if (this.#masks.advance(start, Uint8Array.of(0x20)) !== this.#recogniser.dead) return more;
    return this.#recogniser.make([...start.entries, ...more.entries], start.accepts);
  }

  mask(set: StackSet): Uint32Array {
    return this.#masks.of(set);
  }

  /** The mask that leaves only the end. */
  get endMask(): Uint32Array {
    return this.#masks.of(this.#recogniser.end);
  }

  /** The set after a token, or undefined if it may not come. */
  after(set: StackSet, id: number): StackSet | undefined {
    const bytes = this.#markers.get(id) ?? (this.#tokenizer.isSpecial(id) ? undefined : this.#tokenizer.tokenBytes(id));
    if (!bytes || bytes.length === 0) return undefined;
    this.#recogniser.beginQuestion();
    const next = this.#masks.advance(set, bytes);
    return next === this.#recogniser.dead ? undefined : next;
  }

  isEnd(id: number): boolean {
    return this.#tokenizer.endOfGenerationIds.has(id);
  }
}

/** Where one answer is in the grammar. */
class Place implements TokenConstraint {
  readonly #grammar: GrammarConstraint;
  #set: StackSet;
  #closed: boolean;

  constructor(grammar: GrammarConstraint, set: StackSet, closed: boolean) {
    this.#grammar = grammar;
    this.#set = set;
    this.#closed = closed;
  }

  get ended(): boolean {
    return this.#closed || this.#set.entries.length === 0;
  }

  mask(): Uint32Array {
    return this.ended ? this.#grammar.endMask : this.#grammar.mask(this.#set);
  }

  accept(id: number): void {
    if (this.#set.accepts && this.#grammar.isEnd(id)) {
      this.#closed = true;
      return;
    }
    const next = this.#closed || this.#grammar.isEnd(id) ? undefined : this.#grammar.after(this.#set, id);
    if (!next) throw grammarError("this token may not come here", `token ${id}`);
    this.#set = next;
  }

  clone(): TokenConstraint {
    return new Place(this.#grammar, this.#set, this.#closed);
  }
}
