import { HalfbyteError } from "../errors.ts";
import { isJsonObject } from "../formats/json.ts";
import { shown } from "../formats/shown.ts";

/**
 * Reads a model's configuration, whatever file it came from, and holds each value to its type and range. Null counts as
 * absent. A getter without a last argument throws ERR_MISSING where the key is absent, and ERR_FORMAT, ERR_LIMIT or
 * ERR_UNSUPPORTED, with the key as the place, for a value that will not do.
 */
export class ConfigReader {
  readonly #place: string;
  readonly #get: (key: string) => unknown;

  constructor(place: string, get: (key: string) => unknown) {
    this.#place = place;
    this.#get = get;
  }

  place(key: string): string {
    return `${this.#place}, ${shown(key)}`;
  }

  /** The value as it stands; undefined where it is absent or null. */
  raw(key: string): unknown {
    return this.#get(key) ?? undefined;
  }

  has(key: string): boolean {
    return this.raw(key) !== undefined;
  }

  /** Present, but said to be nothing. */
  isNull(key: string): boolean {
    return this.#get(key) === null;
  }

  /** A whole number from 1 to `max`. */
  count(key: string, max: number): number;
  count<T>(key: string, max: number, absent: T): number | T;
  count(key: string, max: number, ...absent: unknown[]): unknown {
    if (!this.has(key)) return this.#absent(key, absent);
    const value = this.#number(key);
    if (!Number.isSafeInteger(value) || value < 1) throw this.#wrong(key, "a whole number of 1 or more");
    if (value <= max) return value;
    throw new HalfbyteError("ERR_LIMIT", "value past the limit", {
      place: this.place(key),
      expected: `at most ${max}`,
      got: String(value),
    });
  }

  /** A finite number above 0. */
  positive(key: string): number;
  positive<T>(key: string, absent: T): number | T;
  positive(key: string, ...absent: unknown[]): unknown {
    if (!this.has(key)) return this.#absent(key, absent);
    const value = this.#number(key);
    if (!Number.isFinite(value) || value <= 0) throw this.#wrong(key, "a number above 0");
    return value;
  }

  boolean(key: string, absent: boolean): boolean {
    const value = this.raw(key) ?? absent;
    if (typeof value !== "boolean") throw this.#wrong(key, "true or false");
    return value;
  }

  text(key: string): string;
  text<T>(key: string, absent: T): string | T;
  text(key: string, ...absent: unknown[]): unknown {
    if (!this.has(key)) return this.#absent(key, absent);
    const value = this.raw(key);
    if (typeof value !== "string") throw this.#wrong(key, "a text");
    return value;
  }

  /** A reader of the object under a key; undefined where it is absent. */
  object(key: string): ConfigReader | undefined {
    const value = this.raw(key);
    if (value === undefined) return undefined;
    if (!isJsonObject(value)) throw this.#wrong(key, "an object");
    return new ConfigReader(this.place(key), (inner) => (Object.hasOwn(value, inner) ? value[inner] : undefined));
  }

  array(key: string): readonly unknown[] | undefined {
    const value = this.raw(key);
    if (value === undefined || Array.isArray(value)) return value;
    throw this.#wrong(key, "a list");
  }

  /** A list of texts; undefined where it is absent. */
  strings(key: string): readonly string[] | undefined {
    const list = this.array(key);
    if (list?.every((item) => typeof item === "string")) return list as string[];
    if (list === undefined) return undefined;
    throw this.#wrong(key, "a list of texts");
  }

  /** Readers of the objects that the object under a key holds, at most `max`; none where it is absent. */
  objects(key: string, max: number): ConfigReader[] {
    const value = this.raw(key);
    if (value === undefined) return [];
    if (!isJsonObject(value) || !Object.values(value).every(isJsonObject))
      throw this.#wrong(key, "an object of objects");
    const keys = Object.keys(value);
    if (keys.length <= max) return keys.map((inner) => this.object(key)!.object(inner)!);
    throw new HalfbyteError("ERR_LIMIT", "more than can be meant", {
      place: this.place(key),
      expected: `at most ${max}`,
      got: String(keys.length),
    });
  }

  /** Throws ERR_UNSUPPORTED, naming the key, where it is present with another value than `harmless`. */
  refuse(key: string, feature: string, ...harmless: unknown[]): void {
    const value = this.raw(key);
    if (value === undefined || harmless.includes(value)) return;
    throw this.unsupported(key, feature);
  }

  unsupported(key: string, feature: string): HalfbyteError {
    return new HalfbyteError("ERR_UNSUPPORTED", `${feature}: not supported`, {
      place: this.place(key),
      got: describe(this.raw(key)),
    });
  }

  #number(key: string): number {
    const value = this.raw(key);
    if (Array.isArray(value)) throw this.unsupported(key, "a value of its own for each layer");
    if (typeof value !== "number") throw this.#wrong(key, "a number");
    return value;
  }

  #absent(key: string, absent: unknown[]): unknown {
    if (absent.length > 0) return absent[0];
    throw new HalfbyteError("ERR_MISSING", "the model's configuration lacks this", { place: this.place(key) });
  }

  #wrong(key: string, expected: string): HalfbyteError {
    return new HalfbyteError("ERR_FORMAT", "unusable value", {
      place: this.place(key),
      expected,
      got: describe(this.raw(key)),
    });
  }
}

function describe(value: unknown): string {
  if (typeof value === "string") return shown(value);
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return typeof value === "object" ? "an object" : String(value);
}
