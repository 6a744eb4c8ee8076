import { HalfbyteError } from "../../errors.ts";
import { shown } from "../shown.ts";

/** Headers nest two deep; fields nobody knows may nest somewhat deeper. */
const MAX_DEPTH = 16;
/** Digits of numbers: 2^64 has 20. */
const MAX_NUMBER_LENGTH = 64;

/** Objects as maps, so that no key is special. */
export type HeaderValue = string | number | boolean | null | HeaderValue[] | Map<string, HeaderValue>;

/**
 * Strict JSON in which a key that occurs twice is an error, which `JSON.parse` does not tell. Numbers other than
 * non-negative integers, which no header needs, come back as NaN. Throws ERR_FORMAT, and ERR_LIMIT past 16 levels.
 */
export function parseHeaderJson(text: string, place: string): HeaderValue {
  return new HeaderJson(text, place).document();
}

class HeaderJson {
  readonly #text: string;
  readonly #place: string;
  #at = 0;

  constructor(text: string, place: string) {
    this.#text = text;
    this.#place = place;
  }

  document(): HeaderValue {
    const value = this.#value(0);
    this.#skipSpace();
    if (this.#at < this.#text.length) throw this.#wrong("the end");
    return value;
  }

  #value(depth: number): HeaderValue {
    if (depth > MAX_DEPTH) {
      throw new HalfbyteError("ERR_LIMIT", "the header nests too deep", { place: this.#here() });
    }
    this.#skipSpace();
    switch (this.#text[this.#at]) {
      case "{":
        return this.#object(depth);
      case "[":
        return this.#array(depth);
      case '"':
        return this.#string();
      case "t":
        return this.#literal("true", true);
      case "f":
        return this.#literal("false", false);
      case "n":
        return this.#literal("null", null);
      default:
        return this.#number();
    }
  }

  #object(depth: number): Map<string, HeaderValue> {
    const object = new Map<string, HeaderValue>();
    this.#at++;
    if (this.#passes("}")) return object;
    do {
      this.#skipSpace();
      if (this.#text[this.#at] !== '"') throw this.#wrong("a key");
      const key = this.#string();
      if (object.has(key)) {
        throw new HalfbyteError("ERR_FORMAT", `key ${shown(key)} occurs twice`, { place: this.#here() });
      }
      if (!this.#passes(":")) throw this.#wrong(":");
      object.set(key, this.#value(depth + 1));
    } while (this.#passes(","));
    if (!this.#passes("}")) throw this.#wrong(", or }");
    return object;
  }

  #array(depth: number): HeaderValue[] {
    const array: HeaderValue[] = [];
    this.#at++;
    if (this.#passes("]")) return array;
    do array.push(this.#value(depth + 1));
    while (this.#passes(","));
    if (!this.#passes("]")) throw this.#wrong(", or ]");
    return array;
  }

  #string(): string {
    const start = this.#at++;
    let escaped = false;
    for (let code = this.#code(); code !== 0x22; code = this.#code()) {
      // Past the end the code is NaN, which is not at least 0x20 either.
      if (!(code >= 0x20)) throw this.#wrong("the end of a string");
      if (code === 0x5c) {
        escaped = true;
        this.#at++;
      }
      this.#at++;
    }
    this.#at++;
    if (!escaped) return this.#text.slice(start + 1, this.#at - 1);
    let value: string | undefined;
    try {
      value = JSON.parse(this.#text.slice(start, this.#at));
    } catch {
      // Reported below, as text that is half a character is.
    }
    if (value?.isWellFormed()) return value;
    this.#at = start;
    throw this.#wrong("a string of valid escapes");
  }

  #number(): number {
    const start = this.#at;
    while (this.#at - start < MAX_NUMBER_LENGTH && /[-+.0-9eE]/.test(this.#text[this.#at] ?? "")) this.#at++;
    const digits = this.#text.slice(start, this.#at);
    if (/^(0|[1-9]\d*)$/.test(digits)) return Number(digits);
    if (/^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(digits)) return Number.NaN;
    this.#at = start;
    throw this.#wrong("a value");
  }

  #literal<T>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) throw this.#wrong("a value");
    this.#at += word.length;
    return value;
  }

  #passes(mark: string): boolean {
    this.#skipSpace();
    if (this.#text[this.#at] !== mark) return false;
    this.#at++;
    return true;
  }

  #code(): number {
    return this.#text.charCodeAt(this.#at);
  }

  #skipSpace(): void {
    for (let code = this.#code(); code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09; ) {
      this.#at++;
      code = this.#code();
    }
  }

  #here(): string {
    return `${this.#place}, character ${this.#at} of the header`;
  }

  #wrong(expected: string): HalfbyteError {
    const found = this.#text[this.#at];
    return new HalfbyteError("ERR_FORMAT", "the header is not valid JSON", {
      place: this.#here(),
      expected,
      got: found === undefined ? "the end" : shown(found),
    });
  }
}
