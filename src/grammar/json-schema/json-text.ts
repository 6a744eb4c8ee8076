import { type CodePoints, codePoints, contains, intersect, utf8 } from "../code-points.ts";
import type { Expression, ExpressionPool } from "../expression.ts";

/** Characters that stand for themselves in a JSON string: all but controls, the quote and the backslash. */
const PLAIN: CodePoints = codePoints([
  [0x20, 0x21],
  [0x23, 0x5b],
  [0x5d, 0x10ffff],
]);
const SHORT_ESCAPES: ReadonlyMap<number, string> = new Map([
  [0x22, '"'],
  [0x5c, "\\"],
  [0x08, "b"],
  [0x0c, "f"],
  [0x0a, "n"],
  [0x0d, "r"],
  [0x09, "t"],
]);

/** Indentation that a line may begin with. */
const MAX_SPACES = 32;
const MAX_TABS = 8;

/** The parts that JSON is made of, as expressions. */
export class JsonText {
  readonly pool: ExpressionPool;
  /** Between tokens: nothing, a space, or a new line with its indentation; never more, or a model could go on for ever. */
  readonly space: Expression;
  /** After a colon: nothing or a space. */
  readonly gap: Expression;
  readonly comma: Expression;
  /** One code point, by itself or by any of its escapes. */
  readonly character: Expression;
  readonly #spelt = new Map<string, Expression>();

  constructor(pool: ExpressionPool) {
    this.pool = pool;
    const blank = pool.byte(0x20);
    const indentation = pool.choice(pool.repeat(blank, 0, MAX_SPACES), pool.repeat(pool.byte(0x09), 1, MAX_TABS));
    this.gap = pool.optional(blank);
    this.space = pool.choice(pool.empty, blank, pool.sequence(pool.byte(0x0a), indentation));
    this.comma = pool.sequence(pool.byte(0x2c), this.space);
    this.character = this.#anyCharacter();
  }

  #anyCharacter(): Expression {
    const { pool } = this;
    const hex = this.#hex("0123456789abcdef");
    const unit = pool.choice(
      pool.sequence(this.#hex("0123456789abcef"), hex, hex, hex),
      pool.sequence(this.#hex("d"), this.#hex("01234567"), hex, hex),
    );
    const high = pool.sequence(this.#hex("d"), this.#hex("89ab"), hex, hex);
    const low = pool.sequence(this.#hex("d"), this.#hex("cdef"), hex, hex);
    const escaped = pool.choice(
      this.#oneOf('"\\/bfnrt'),
      pool.sequence(pool.byte(0x75), pool.choice(unit, pool.sequence(high, pool.text("\\u"), low))),
    );
    return pool.choice(utf8(pool, PLAIN), pool.sequence(pool.byte(0x5c), escaped));
  }

  #hex(digits: string): Expression {
    return this.#oneOf(digits + digits.toUpperCase());
  }

  #oneOf(characters: string): Expression {
    const has = new Uint8Array(256);
    for (const character of characters) has[character.charCodeAt(0)] = 1;
    return this.pool.bytes(has);
  }

  /** A string of so many code points. */
  string(min: number, max: number): Expression {
    return this.quoted(this.pool.repeat(this.character, min, max));
  }

  /** The quotes around what spells the characters of a string. */
  quoted(content: Expression): Expression {
    const quote = this.pool.byte(0x22);
    return this.pool.sequence(quote, this.pool.sequence(content, quote));
  }

  /** One character of a set in the one way that `JSON.stringify` spells it. */
  spell(set: CodePoints): Expression {
    const key = set.join();
    let spelt = this.#spelt.get(key);
    if (!spelt) this.#spelt.set(key, (spelt = this.#spell(set)));
    return spelt;
  }

  #spell(set: CodePoints): Expression {
    const { pool } = this;
    const ways = [utf8(pool, intersect(set, PLAIN))];
    for (const [codePoint, letter] of SHORT_ESCAPES) if (contains(set, codePoint)) ways.push(pool.text(`\\${letter}`));
    for (let codePoint = 0; codePoint < 0x20; codePoint++)
      if (!SHORT_ESCAPES.has(codePoint) && contains(set, codePoint))
        ways.push(pool.text(`\\u${codePoint.toString(16).padStart(4, "0")}`));
    return pool.choice(...ways.filter((way) => way !== pool.nothing));
  }

  /** One of some texts, as they stand; told apart byte by byte. */
  oneOf(texts: readonly string[]): Expression {
    const encoder = new TextEncoder();
    return this.#fork(
      [...new Set(texts)].map((text) => encoder.encode(text)),
      0,
    );
  }

  #fork(texts: readonly Uint8Array[], from: number): Expression {
    const { pool } = this;
    let at = from;
    const shared: Expression[] = [];
    const first = texts[0];
    if (!first) return pool.nothing;
    while (at < first.length && texts.every((text) => text[at] === first[at])) shared.push(pool.byte(first[at++]!));
    const groups = new Map<number, Uint8Array[]>();
    let ends = false;
    for (const text of texts) {
      const byte = text[at];
      if (byte === undefined) ends = true;
      else if (groups.has(byte)) groups.get(byte)!.push(text);
      else groups.set(byte, [text]);
    }
    const branches = Array.from(groups.values(), (group) => this.#fork(group, at));
    if (ends) branches.push(pool.empty);
    return pool.sequence(...shared, pool.choice(...branches));
  }

  /** A JSON value as it is. */
  literal(value: unknown): Expression {
    const { pool } = this;
    if (Array.isArray(value)) return this.#list("[", value.map((item) => this.literal(item)), "]"); // biome-ignore format: one line
    if (typeof value === "object" && value !== null)
      return this.#list("{", Object.entries(value).map(([key, item]) => this.pair(pool.text(JSON.stringify(key)), this.literal(item))), "}"); // biome-ignore format: one line
    return pool.text(JSON.stringify(value));
  }

  #list(open: string, items: readonly Expression[], close: string): Expression {
    const { pool } = this;
    if (items.length === 0) return pool.text(open + close);
    const separated = items.flatMap((item, i) => (i === 0 ? [item] : [this.comma, item]));
    return pool.sequence(pool.text(open), this.space, ...separated, this.space, pool.text(close));
  }

  pair(key: Expression, value: Expression): Expression {
    return this.pool.sequence(key, this.pool.byte(0x3a), this.gap, value);
  }
}
