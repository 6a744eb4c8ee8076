import type { Expression, ExpressionPool } from "./expression.ts";
import { grammarError } from "./grammar-error.ts";

/** The stacks of a set that have `expression` on top, and what they have below it. */
interface Entry {
  readonly expression: Expression;
  readonly below: StackSet;
}

/**
 * A set of stacks of expressions: the ways in which a text can go on. Stacks with the same top share an entry, so that
 * the set is a graph whose size stays small where the number of stacks grows without bound. Equal sets are one object.
 */
export interface StackSet {
  readonly id: number;
  /** By ascending id of the expression. */
  readonly entries: readonly Entry[];
  /** Is the empty stack among them: may the text end here? */
  readonly accepts: boolean;
  /** The same ways with a byte or a hole on top of every stack. */
  opened: StackSet | undefined;
  /** After one byte, by its class. */
  readonly next: (StackSet | undefined)[];
  /** The set after any character of plain text, and how many can follow. Known once asked; see plain-text.ts. */
  plainNext: StackSet | "several" | undefined;
  plainRoom: number | undefined;
}

/** Sets kept for reuse, about 100 MB at the worst; past it they are forgotten and made anew. */
const MAX_SETS = 300_000;
/** Entries handled in one question: a tenth of a second at the worst. Ambiguous grammars alone come near it. */
const MAX_WORK = 2_000_000;

/** Follows texts through a sealed grammar byte by byte. */
export class Recogniser {
  /** No way on. */
  readonly dead: StackSet;
  /** Only the end. */
  readonly end: StackSet;
  readonly #pool: ExpressionPool;
  readonly #sets = new Map<string, StackSet>();
  readonly #unions = new Map<string, StackSet>();
  #nextId = 0;
  #work = 0;

  constructor(pool: ExpressionPool) {
    this.#pool = pool;
    this.dead = this.#intern([], false);
    this.end = this.#intern([], true);
  }

  get setCount(): number {
    return this.#sets.size;
  }

  start(root: Expression): StackSet {
    return this.open(this.push(root, this.end));
  }

  /** A new question begins: its work is bounded by itself. */
  beginQuestion(): void {
    this.#work = 0;
    if (this.#sets.size + this.#unions.size <= MAX_SETS) return;
    this.#sets.clear();
    this.#unions.clear();
    this.#keep(this.dead);
    this.#keep(this.end);
  }

  /** The set after a byte of class `byteClass`; `dead` if none may follow. Throws ERR_GRAMMAR for hopeless ambiguity. */
  step(set: StackSet, byteClass: number): StackSet {
    return (set.next[byteClass] ??= this.#step(set, this.#pool.byteOfClass[byteClass]!));
  }

  #step(set: StackSet, byte: number): StackSet {
    let result = this.dead;
    let more: StackSet[] | undefined;
    for (const { expression, below } of set.entries) {
      if (expression.kind !== "bytes" || expression.has[byte] === 0) continue;
      const opened = this.open(below);
      if (result === this.dead) result = opened;
      else (more ??= [result]).push(opened);
    }
    if (!more) return result;
    const entries: Entry[] = [];
    for (const one of more) entries.push(...one.entries);
    return this.#collect(
      entries,
      more.some((one) => one.accepts),
    );
  }

  /** Stacks with one expression on top of each stack of a set. */
  push(expression: Expression, below: StackSet): StackSet {
    return this.#intern([{ expression, below }], false);
  }

  /** Unfolds what is on top of the stacks until it is a byte, a hole or nothing. */
  open(set: StackSet): StackSet {
    if (set.opened) return set.opened;
    const entries: Entry[] = [];
    let { accepts } = set;
    for (const { expression, below } of set.entries) {
      this.#begin(expression, below, entries);
      if (!expression.nullable) continue;
      const after = this.open(below);
      entries.push(...after.entries);
      accepts ||= after.accepts;
    }
    set.opened = this.#collect(entries, accepts);
    set.opened.opened = set.opened;
    return set.opened;
  }

  /** The ways into an expression that take at least one byte of it. */
  #begin(expression: Expression, below: StackSet, out: Entry[]): void {
    if (++this.#work > MAX_WORK) throw grammarError("too ambiguous to follow", "grammar");
    if (!expression.productive) return;
    switch (expression.kind) {
      case "bytes":
      case "hole":
        out.push({ expression, below });
        break;
      case "sequence":
        this.#begin(expression.first, this.push(expression.rest, below), out);
        if (expression.first.nullable) this.#begin(expression.rest, below, out);
        break;
      case "choice":
        for (const one of expression.of) this.#begin(one, below, out);
        break;
      case "repeat": {
        const { item, min, max } = expression;
        const rest = this.#pool.repeat(item, item.nullable ? 0 : Math.max(0, min - 1), max - 1);
        this.#begin(item, rest.kind === "empty" ? below : this.push(rest, below), out);
        break;
      }
      case "rule":
        this.#begin(expression.rule.body!, below, out);
        break;
      case "state":
        for (const { character, to } of expression.automaton.edges[expression.state]!) {
          const { automaton } = expression;
          // A state nothing follows is as good as none.
          const leaf = automaton.edges[to]!.length === 0;
          this.#begin(character, leaf ? below : this.push(this.#pool.state(automaton, to), below), out);
        }
        break;
    }
  }

  /** The set of all these stacks. */
  #collect(entries: Entry[], accepts: boolean): StackSet {
    this.#work += entries.length;
    if (this.#work > MAX_WORK) throw grammarError("too ambiguous to follow", "grammar");
    entries.sort((a, b) => a.expression.id - b.expression.id);
    const merged: Entry[] = [];
    for (let from = 0, to = 0; from < entries.length; from = to) {
      const { expression } = entries[from]!;
      while (to < entries.length && entries[to]!.expression === expression) to++;
      const below = to === from + 1 ? entries[from]!.below : this.#union(entries.slice(from, to));
      merged.push({ expression, below });
    }
    return this.#intern(merged, accepts);
  }

  /** What the entries have below them, as one set; all at once, since one after the other takes quadratic time. */
  #union(entries: readonly Entry[]): StackSet {
    const sets = [...new Set(entries.map(({ below }) => below))].sort((a, b) => a.id - b.id);
    if (sets.length === 1) return sets[0]!;
    const key = sets.map(({ id }) => id).join();
    let union = this.#unions.get(key);
    if (!union) {
      const all = sets.flatMap((set) => set.entries);
      union = this.#collect(
        all,
        sets.some((set) => set.accepts),
      );
      this.#unions.set(key, union);
    }
    return union;
  }

  /** The one set of these entries, which are in order. */
  #intern(entries: readonly Entry[], accepts: boolean): StackSet {
    const key = keyOf(entries, accepts);
    let set = this.#sets.get(key);
    if (!set) {
      set = {
        id: this.#nextId++,
        entries,
        accepts,
        opened: undefined,
        next: [],
        plainNext: undefined,
        plainRoom: undefined,
      };
      this.#sets.set(key, set);
    }
    return set;
  }

  #keep(set: StackSet): void {
    this.#sets.set(keyOf(set.entries, set.accepts), set);
  }

  /** A set with other entries, in any order. */
  make(entries: Entry[], accepts: boolean): StackSet {
    return this.#collect(entries, accepts);
  }
}

function keyOf(entries: readonly Entry[], accepts: boolean): string {
  let key = accepts ? "+" : "";
  for (const { expression, below } of entries) key += `${expression.id}:${below.id},`;
  return key;
}
