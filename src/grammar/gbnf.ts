import { type CodePoints, codePoints, complement, unite, utf8 } from "./code-points.ts";
import type { Expression, ExpressionPool, Rule } from "./expression.ts";
import { grammarError } from "./grammar-error.ts";

/** Longer grammars are refused unread. */
const MAX_GRAMMAR_LENGTH = 500_000;
/** Groups within groups; reading recurses along them. */
const MAX_GROUPS = 200;
/** Counts of repetitions; they cost nothing until they are used. */
const MAX_COUNT = 1_000_000;

/**
 * Reads a grammar in llama.cpp's notation, GBNF; the answer is what the rule `root` derives. Throws ERR_GRAMMAR with the
 * line for what is no such grammar, lacks `root`, or nests too deep. A rule that begins with itself is found when the
 * pool is sealed.
 *
 * Notation: https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md
 */
export function readGbnf(pool: ExpressionPool, source: string): Expression {
  if (source.length > MAX_GRAMMAR_LENGTH)
    throw grammarError("the grammar is too long", "grammar", {
      expected: `at most ${MAX_GRAMMAR_LENGTH} UTF-16 units`,
    });
  return new GbnfReader(pool, source).read();
}

class GbnfReader {
  readonly #pool: ExpressionPool;
  readonly #source: string;
  readonly #rules = new Map<string, Rule>();
  #at = 0;
  #groups = 0;

  constructor(pool: ExpressionPool, source: string) {
    this.#pool = pool;
    this.#source = source.toWellFormed();
  }

  read(): Expression {
    this.#space(true);
    while (this.#at < this.#source.length) this.#rule();
    const root = this.#rules.get("root");
    if (!root?.body) throw grammarError('the grammar has no rule "root"', "grammar");
    return this.#pool.rule(root);
  }

  #rule(): void {
    const name = this.#name();
    this.#space(false);
    if (!this.#take("::=")) this.#fail('"::="');
    const rule = this.#named(name);
    if (rule.body) this.#fail(`one rule ${name}, not two`);
    this.#space(true);
    rule.body = this.#alternatives(false);
    if (this.#at < this.#source.length && !/[\r\n]/.test(this.#source[this.#at]!)) this.#fail("the end of the rule");
    this.#space(true);
  }

  #named(name: string): Rule {
    let rule = this.#rules.get(name);
    if (!rule) this.#rules.set(name, (rule = { name, body: undefined }));
    return rule;
  }

  /** Within parentheses a rule may go on after the end of a line; elsewhere after "|". */
  #alternatives(nested: boolean): Expression {
    const of = [this.#sequence(nested)];
    while (this.#take("|")) {
      this.#space(true);
      of.push(this.#sequence(nested));
    }
    return this.#pool.choice(...of);
  }

  #sequence(nested: boolean): Expression {
    const parts: Expression[] = [];
    for (;;) {
      const item = this.#item();
      if (!item) break;
      parts.push(this.#repeated(item));
      this.#space(nested);
    }
    return this.#pool.sequence(...parts);
  }

  #item(): Expression | undefined {
    const character = this.#source[this.#at];
    if (character === undefined) return undefined;
    if (this.#take('"')) return this.#literal();
    if (this.#take("[")) return utf8(this.#pool, this.#set());
    if (this.#take(".")) return utf8(this.#pool, complement([]));
    if (this.#take("(")) {
      if (++this.#groups > MAX_GROUPS) this.#fail(`at most ${MAX_GROUPS} groups within each other`);
      this.#space(true);
      const group = this.#alternatives(true);
      if (!this.#take(")")) this.#fail('")"');
      this.#groups--;
      return group;
    }
    if (/[a-zA-Z0-9-]/.test(character)) return this.#pool.rule(this.#named(this.#name()));
    if (!/[|)\r\n]/.test(character)) this.#fail("a literal, a set, a group or a rule");
    return undefined;
  }

  #repeated(item: Expression): Expression {
    if (this.#take("*")) return this.#pool.repeat(item, 0, Infinity);
    if (this.#take("+")) return this.#pool.repeat(item, 1, Infinity);
    if (this.#take("?")) return this.#pool.optional(item);
    if (!this.#take("{")) return item;
    const min = this.#count();
    let max = min;
    if (this.#take(",")) max = this.#source[this.#at] === "}" ? Infinity : this.#count();
    if (!this.#take("}")) this.#fail('"}"');
    if (max < min) this.#fail("a count not below the other");
    return this.#pool.repeat(item, min, max);
  }

  #count(): number {
    const digits = /^[0-9]{1,9}/.exec(this.#source.slice(this.#at, this.#at + 9))?.[0] ?? this.#fail("a count");
    this.#at += digits.length;
    return Number(digits) <= MAX_COUNT ? Number(digits) : this.#fail(`a count of at most ${MAX_COUNT}`);
  }

  #literal(): Expression {
    let text = "";
    while (!this.#take('"')) text += String.fromCodePoint(this.#character());
    return this.#pool.text(text.toWellFormed());
  }

  #set(): CodePoints {
    const negated = this.#take("^");
    const sets: CodePoints[] = [];
    while (!this.#take("]")) {
      const from = this.#character();
      const range = this.#source[this.#at] === "-" && this.#source[this.#at + 1] !== "]";
      if (range) this.#at++;
      sets.push(codePoints([[from, range ? this.#character() : from]]));
    }
    const set = unite(...sets);
    return negated ? complement(set) : set;
  }

  #character(): number {
    const codePoint = this.#source.codePointAt(this.#at);
    if (codePoint === undefined) return this.#fail("the end of a literal or set");
    this.#at += codePoint > 0xffff ? 2 : 1;
    if (codePoint !== 0x5c) return codePoint;
    const letter = this.#source[this.#at++] ?? this.#fail("an escaped character");
    const digits = { x: 2, u: 4, U: 8 }[letter];
    if (digits !== undefined) return this.#hexadecimal(digits);
    const control = { n: 10, r: 13, t: 9 }[letter];
    if (control !== undefined) return control;
    return '\\"[]^-'.includes(letter) ? letter.charCodeAt(0) : this.#fail("a known escape");
  }

  #hexadecimal(digits: number): number {
    const text = this.#source.slice(this.#at, this.#at + digits);
    const value = Number.parseInt(text, 16);
    if (!/^[0-9a-fA-F]+$/.test(text) || text.length !== digits || value > 0x10ffff)
      this.#fail(`${digits} hexadecimal digits of a character`);
    this.#at += digits;
    return value;
  }

  #name(): string {
    const start = this.#at;
    while (/[a-zA-Z0-9-]/.test(this.#source[this.#at] ?? "")) this.#at++;
    return start === this.#at ? this.#fail("the name of a rule") : this.#source.slice(start, this.#at);
  }

  #take(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  /** Skips spaces and comments, and ends of lines where they mean nothing. */
  #space(lines: boolean): void {
    for (;;) {
      const character = this.#source[this.#at];
      if (character === "#")
        while (this.#at < this.#source.length && !/[\r\n]/.test(this.#source[this.#at]!)) this.#at++;
      else if (character === " " || character === "\t" || (lines && (character === "\n" || character === "\r")))
        this.#at++;
      else return;
    }
  }

  #fail(expected: string): never {
    const line = this.#source.slice(0, this.#at).split("\n").length;
    const got = JSON.stringify(this.#source.slice(this.#at, this.#at + 20));
    throw grammarError("cannot be read", `grammar, line ${line}`, { expected, got });
  }
}
