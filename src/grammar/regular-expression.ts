import { ANY_TEXT, type Pattern } from "./automaton.ts";
import { type CodePoints, codePoints, codePointsOf, complement, unite } from "./code-points.ts";
import { grammarError } from "./grammar-error.ts";

/** Longer patterns are refused unread. */
const MAX_PATTERN_LENGTH = 20_000;
/** Groups within groups; reading recurses along them. */
const MAX_GROUPS = 200;
/** Repetitions are unrolled: higher counts are refused. */
const MAX_COUNT = 10_000;

/** A pattern of which the beginning or end of the text may be asked for. */
type Part =
  | { readonly kind: "start" }
  | { readonly kind: "end" }
  | { readonly kind: "characters"; readonly set: CodePoints }
  | { readonly kind: "sequence"; readonly parts: readonly Part[] }
  | { readonly kind: "choice"; readonly of: readonly Part[] }
  | { readonly kind: "repeat"; readonly item: Part; readonly min: number; readonly max: number };

const LINE_ENDS = codePointsOf("\n\r\u2028\u2029");
const DIGITS = codePoints([[0x30, 0x39]]);
const WORD = unite(codePointsOf("_"), codePoints([[0x30, 0x39], [0x41, 0x5a], [0x61, 0x7a]])); // biome-ignore format: one line
const SPACES = unite(codePointsOf("\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff"), codePoints([[0x2000, 0x200a]])); // biome-ignore format: one line

const CLASSES: Readonly<Record<string, CodePoints>> = {
  d: DIGITS,
  D: complement(DIGITS),
  w: WORD,
  W: complement(WORD),
  s: SPACES,
  S: complement(SPACES),
};
const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0 };

/**
 * Reads an ECMAScript pattern with the `u` flag. `whole`: it must match the text from beginning to end, as the `pattern`
 * attribute of HTML does; else it matches anywhere in it, as the keyword `pattern` of JSON schema does, and says with ^
 * and $ where.
 * Throws ERR_GRAMMAR at `place` for what is no such pattern, and for what no automaton does: looking around, backward
 * references, word boundaries, and ^ or $ within a pattern.
 */
export function readPattern(source: string, place: string, whole: boolean): Pattern {
  if (source.length > MAX_PATTERN_LENGTH)
    throw grammarError("the pattern is too long", place, { expected: `at most ${MAX_PATTERN_LENGTH} UTF-16 units` });
  try {
    new RegExp(source, "u");
  } catch (cause) {
    throw grammarError("not a regular expression", place, { got: JSON.stringify(source.slice(0, 80)), cause });
  }
  return anchor(new PatternReader(source, place).read(), place, !whole, !whole);
}

/** Puts "anything" where no ^ or $ keeps it out. */
function anchor(part: Part, place: string, freeStart: boolean, freeEnd: boolean): Pattern {
  if (part.kind === "choice")
    return { kind: "choice", of: part.of.map((one) => anchor(one, place, freeStart, freeEnd)) };
  const parts = part.kind === "sequence" ? [...part.parts] : [part];
  const start = freeStart && parts[0]?.kind !== "start";
  const end = freeEnd && parts.at(-1)?.kind !== "end";
  while (parts[0]?.kind === "start") parts.shift();
  while (parts.at(-1)?.kind === "end") parts.pop();
  // A group that is all there is may have its own anchors.
  const only = parts[0];
  if (parts.length === 1 && only && (only.kind === "choice" || only.kind === "sequence"))
    return anchor(only, place, start, end);
  const plain = parts.map((one) => withoutAnchors(one, place));
  return { kind: "sequence", parts: [...(start ? [ANY_TEXT] : []), ...plain, ...(end ? [ANY_TEXT] : [])] };
}

function withoutAnchors(part: Part, place: string): Pattern {
  switch (part.kind) {
    case "start":
    case "end":
      throw grammarError("^ and $ are understood only around a pattern or its alternatives", place);
    case "characters":
      return part;
    case "sequence":
      return { kind: "sequence", parts: part.parts.map((one) => withoutAnchors(one, place)) };
    case "choice":
      return { kind: "choice", of: part.of.map((one) => withoutAnchors(one, place)) };
    case "repeat":
      return { ...part, item: withoutAnchors(part.item, place) };
  }
}

/** Reads what the engine's own RegExp has found to be a valid pattern. */
class PatternReader {
  readonly #characters: readonly string[];
  readonly #place: string;
  #at = 0;
  #groups = 0;

  constructor(source: string, place: string) {
    this.#characters = Array.from(source);
    this.#place = place;
  }

  read(): Part {
    return this.#alternatives();
  }

  #peek(text: string): boolean {
    for (let i = 0; i < text.length; i++) if (this.#characters[this.#at + i] !== text[i]) return false;
    return true;
  }

  #take(text: string): boolean {
    if (!this.#peek(text)) return false;
    this.#at += text.length;
    return true;
  }

  #refuse(what: string): never {
    throw grammarError(`${what} cannot be enforced`, this.#place, { got: `at character ${this.#at}` });
  }

  #alternatives(): Part {
    const of: Part[] = [];
    do {
      const parts: Part[] = [];
      while (this.#at < this.#characters.length && !this.#peek("|") && !this.#peek(")")) parts.push(this.#repeated());
      of.push(parts.length === 1 ? parts[0]! : { kind: "sequence", parts });
    } while (this.#take("|"));
    return of.length === 1 ? of[0]! : { kind: "choice", of };
  }

  #repeated(): Part {
    const item = this.#atom();
    const counts = this.#counts();
    if (!counts) return item;
    this.#take("?"); // lazy or not, the texts are the same
    return { kind: "repeat", item, ...counts };
  }

  #counts(): { min: number; max: number } | undefined {
    if (this.#take("*")) return { min: 0, max: Infinity };
    if (this.#take("+")) return { min: 1, max: Infinity };
    if (this.#take("?")) return { min: 0, max: 1 };
    if (!this.#take("{")) return undefined;
    const min = this.#number();
    const max = this.#take(",") ? (this.#peek("}") ? Infinity : this.#number()) : min;
    this.#take("}");
    if (min > MAX_COUNT || (max !== Infinity && max > MAX_COUNT)) this.#refuse(`a count above ${MAX_COUNT}`);
    return { min, max };
  }

  #number(): number {
    let digits = "";
    while (/[0-9]/.test(this.#characters[this.#at] ?? "")) digits += this.#characters[this.#at++];
    return Number(digits);
  }

  #atom(): Part {
    if (this.#take("^")) return { kind: "start" };
    if (this.#take("$")) return { kind: "end" };
    if (this.#take(".")) return { kind: "characters", set: complement(LINE_ENDS) };
    if (this.#take("[")) return { kind: "characters", set: this.#set() };
    if (this.#take("(")) return this.#group();
    if (this.#take("\\")) return { kind: "characters", set: this.#escape() };
    return { kind: "characters", set: codePointsOf(this.#characters[this.#at++]!) };
  }

  #group(): Part {
    if (this.#take("?") && !this.#take(":")) {
      if (!this.#peek("<") || this.#peek("<=") || this.#peek("<!")) this.#refuse("looking around, or a flag,");
      while (!this.#take(">")) this.#at++;
    }
    if (++this.#groups > MAX_GROUPS) this.#refuse(`more than ${MAX_GROUPS} groups within another`);
    const part = this.#alternatives();
    this.#groups--;
    this.#take(")");
    return part;
  }

  #set(): CodePoints {
    const negated = this.#take("^");
    const sets: CodePoints[] = [];
    while (!this.#take("]")) {
      const low = this.#member();
      const range = low.length === 2 && low[0] === low[1] && this.#peek("-") && this.#characters[this.#at + 1] !== "]";
      if (!range) {
        sets.push(low);
        continue;
      }
      this.#take("-");
      sets.push(codePoints([[low[0]!, this.#member()[0]!]]));
    }
    const set = unite(...sets);
    return negated ? complement(set) : set;
  }

  #member(): CodePoints {
    if (this.#take("\\")) return this.#take("b") ? [8, 8] : this.#take("-") ? codePointsOf("-") : this.#escape();
    return codePointsOf(this.#characters[this.#at++]!);
  }

  /** After the backslash. */
  #escape(): CodePoints {
    const letter = this.#characters[this.#at++]!;
    const known = CLASSES[letter];
    if (known) return known;
    const control = CONTROLS[letter];
    if (control !== undefined) return [control, control];
    if (letter === "c") return one(this.#characters[this.#at++]!.charCodeAt(0) % 32);
    if (letter === "x") return one(this.#hexadecimal(2));
    if (letter === "u") return one(this.#unicodeEscape());
    if (letter === "p" || letter === "P") return this.#property(letter);
    if (/[bBk1-9]/.test(letter)) this.#refuse(`\\${letter}`);
    return codePointsOf(letter);
  }

  #hexadecimal(digits: number): number {
    const text = this.#characters.slice(this.#at, this.#at + digits).join("");
    this.#at += digits;
    return Number.parseInt(text, 16);
  }

  #unicodeEscape(): number {
    if (this.#take("{")) {
      const end = this.#characters.indexOf("}", this.#at);
      const value = this.#hexadecimal(end - this.#at);
      this.#at++;
      return value;
    }
    const high = this.#hexadecimal(4);
    if (high < 0xd800 || high > 0xdbff || !this.#take("\\u")) return high;
    return 0x10000 + ((high - 0xd800) << 10) + (this.#hexadecimal(4) - 0xdc00);
  }

  #property(letter: string): CodePoints {
    const end = this.#characters.indexOf("}", this.#at);
    const name = this.#characters.slice(this.#at, end + 1).join("");
    this.#at = end + 1;
    const set = propertySet(name);
    return letter === "p" ? set : complement(set);
  }
}

function one(codePoint: number): CodePoints {
  return codePoints([[codePoint, codePoint]]);
}

const properties = new Map<string, CodePoints>();

/** The characters of a Unicode property, which only the engine's tables know: it is asked about each of them once. */
function propertySet(name: string): CodePoints {
  let set = properties.get(name);
  if (set) return set;
  const expression = new RegExp(`^\\p${name}$`, "u");
  const found: [number, number][] = [];
  for (let codePoint = 0; codePoint <= 0x10ffff; codePoint++)
    if (expression.test(String.fromCodePoint(codePoint))) {
      const last = found.at(-1);
      if (last && last[1] === codePoint - 1) last[1] = codePoint;
      else found.push([codePoint, codePoint]);
    }
  set = codePoints(found);
  properties.set(name, set);
  return set;
}
