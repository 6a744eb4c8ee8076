/**
 * Regular expressions over names of matrices, as configurations of checkpoints have them: the part of Python's `re` that
 * is in use there. JavaScript's own engine takes time without bound on patterns made to that end, and the patterns come
 * with the file; this one finds all places a match may end at once, and counts its steps.
 */
type Node =
  | { readonly kind: "character"; readonly test: (character: string) => boolean }
  | { readonly kind: "start" | "end" }
  | { readonly kind: "sequence" | "either"; readonly nodes: readonly Node[] }
  | { readonly kind: "repeat"; readonly node: Node; readonly least: number; readonly most: number };

export interface NamePattern {
  /** A match at the start of the name, as `re.match`. Takes its steps from the budget; false once that is spent. */
  matches(name: string, budget: StepBudget): boolean;
}

/** Steps that all patterns of a checkpoint may take together: some seconds. Those in use take some thousands. */
export class StepBudget {
  left = 50_000_000;
}

const MAX_LENGTH = 1024;
const MAX_DEPTH = 16;
const MAX_REPEAT = 64;

/** Undefined for a pattern this engine does not know: look-around, references to groups, word boundaries. */
export function namePattern(source: string): NamePattern | undefined {
  if (source.length > MAX_LENGTH) return undefined;
  try {
    const tree = new Parser(source).whole();
    return { matches: (name, budget) => ends(tree, name, new Set([0]), budget).size > 0 };
  } catch (error) {
    if (error instanceof UnknownSyntax) return undefined;
    throw error;
  }
}

class UnknownSyntax extends Error {}

/** Where matches that begin at one of `starts` may end. */
function ends(node: Node, name: string, starts: ReadonlySet<number>, budget: StepBudget): ReadonlySet<number> {
  budget.left -= 1 + starts.size;
  if (budget.left < 0 || starts.size === 0) return new Set();
  switch (node.kind) {
    case "start":
      return new Set([...starts].filter((at) => at === 0));
    case "end":
      return new Set([...starts].filter((at) => at === name.length));
    case "character":
      return new Set([...starts].filter((at) => at < name.length && node.test(name[at]!)).map((at) => at + 1));
    case "sequence":
      return node.nodes.reduce((from, each) => ends(each, name, from, budget), starts);
    case "either":
      return new Set(node.nodes.flatMap((each) => [...ends(each, name, starts, budget)]));
    case "repeat": {
      let from = starts;
      for (let i = 0; i < node.least; i++) from = ends(node.node, name, from, budget);
      const all = new Set(from);
      for (let i = node.least; i < node.most && from.size > 0; i++) {
        from = new Set([...ends(node.node, name, from, budget)].filter((at) => !all.has(at)));
        for (const at of from) all.add(at);
      }
      return all;
    }
  }
}

const CLASSES: Record<string, RegExp> = { d: /\d/, D: /\D/, w: /\w/, W: /\W/, s: /\s/, S: /\S/ };

class Parser {
  readonly #source: string;
  #at = 0;
  #depth = 0;

  constructor(source: string) {
    this.#source = source;
  }

  whole(): Node {
    const node = this.#either();
    if (this.#at < this.#source.length) throw new UnknownSyntax();
    return node;
  }

  #peek(): string | undefined {
    return this.#source[this.#at];
  }

  #take(expected?: string): string {
    const character = this.#source[this.#at++];
    if (character === undefined || (expected !== undefined && character !== expected)) throw new UnknownSyntax();
    return character;
  }

  #takeIf(text: string): boolean {
    const here = this.#source.startsWith(text, this.#at);
    if (here) this.#at += text.length;
    return here;
  }

  #either(): Node {
    const nodes = [this.#sequence()];
    while (this.#takeIf("|")) nodes.push(this.#sequence());
    return nodes.length === 1 ? nodes[0]! : { kind: "either", nodes };
  }

  #sequence(): Node {
    const nodes: Node[] = [];
    for (let next = this.#peek(); next !== undefined && next !== "|" && next !== ")"; next = this.#peek())
      nodes.push(this.#repeated(this.#atom()));
    return { kind: "sequence", nodes };
  }

  #atom(): Node {
    const character = this.#take();
    switch (character) {
      case "(":
        return this.#group();
      case "[":
        return this.#class();
      case ".":
        return { kind: "character", test: (c) => c !== "\n" };
      case "^":
        return { kind: "start" };
      case "$":
        return { kind: "end" };
      case "\\":
        return { kind: "character", test: this.#escape() };
      case "*":
      case "+":
      case "?":
      case "{":
        throw new UnknownSyntax();
      default:
        return { kind: "character", test: (c) => c === character };
    }
  }

  #group(): Node {
    if (++this.#depth > MAX_DEPTH) throw new UnknownSyntax();
    if (this.#peek() === "?") {
      this.#take();
      this.#take(":");
    }
    const node = this.#either();
    this.#take(")");
    this.#depth--;
    return node;
  }

  /** A class of characters, or a character that would mean something else. Others have meanings of their own. */
  #escape(): (character: string) => boolean {
    const character = this.#take();
    const known = CLASSES[character];
    if (known) return (c) => known.test(c);
    if (/[A-Za-z0-9]/.test(character)) throw new UnknownSyntax();
    return (c) => c === character;
  }

  #class(): Node {
    const negated = this.#takeIf("^");
    const tests: ((character: string) => boolean)[] = [];
    do {
      const from = this.#take();
      if (from === "\\") tests.push(this.#escape());
      else if (this.#peek() === "-" && this.#source[this.#at + 1] !== "]") {
        this.#take();
        const to = this.#take();
        tests.push((c) => c >= from && c <= to);
      } else tests.push((c) => c === from);
    } while (!this.#takeIf("]"));
    return { kind: "character", test: (c) => tests.some((test) => test(c)) !== negated };
  }

  #repeated(node: Node): Node {
    const range = this.#range();
    if (!range) return node;
    // Whether a repeat takes as much or as little as it can makes no difference to whether there is a match.
    this.#takeIf("?");
    return { kind: "repeat", node, least: range[0], most: range[1] };
  }

  #range(): [least: number, most: number] | undefined {
    if (this.#takeIf("*")) return [0, Number.POSITIVE_INFINITY];
    if (this.#takeIf("+")) return [1, Number.POSITIVE_INFINITY];
    if (this.#takeIf("?")) return [0, 1];
    if (this.#peek() !== "{") return undefined;
    const [text, least, comma, most] = /^\{(\d{1,3})(,?)(\d{0,3})\}/.exec(this.#source.slice(this.#at)) ?? [];
    if (text === undefined || Number(least) > MAX_REPEAT || Number(most) > MAX_REPEAT) throw new UnknownSyntax();
    this.#at += text.length;
    return [Number(least), comma ? (most ? Number(most) : Number.POSITIVE_INFINITY) : Number(least)];
  }
}
