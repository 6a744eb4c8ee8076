import { HalfbyteError } from "../../errors.ts";
import { type ByteSource, readBytes } from "../byte-source.ts";
import { shown } from "../shown.ts";
import type { StringTable } from "../string-table.ts";
import { decodeUtf8 } from "../utf8.ts";
import { decodeArray, decodeNumbers, decodeStrings, type GgufNumbers, type GgufValue, joinStrings } from "./arrays.ts";

type GgufNumberType = "u8" | "i8" | "u16" | "i16" | "u32" | "i32" | "f32" | "u64" | "i64" | "f64";
export type GgufType = GgufNumberType | "bool" | "string" | "array";

/** A key with its value; strings and arrays keep their bytes, or where these stand, until they are asked for. */
export type GgufEntry =
  | { readonly key: string; readonly type: GgufNumberType; readonly value: number | bigint }
  | { readonly key: string; readonly type: "bool"; readonly value: boolean }
  | { readonly key: string; readonly type: "string"; readonly bytes: Uint8Array }
  | {
      readonly key: string;
      readonly type: "array";
      readonly elementType: GgufType;
      /** Elements. */
      readonly length: number;
      /** Where the elements stand, after the array's own type and length. */
      readonly offset: number;
      readonly byteLength: number;
    };

type ArrayEntry = Extract<GgufEntry, { type: "array" }>;

/**
 * The keys of a GGUF file. A getter given only a key throws ERR_MISSING where it is absent; given a second argument it
 * returns that instead. A value of another type throws ERR_FORMAT.
 */
export class GgufMetadata implements Iterable<GgufEntry> {
  readonly #entries: ReadonlyMap<string, GgufEntry>;
  readonly #source: ByteSource;

  constructor(source: ByteSource, entries: ReadonlyMap<string, GgufEntry>) {
    this.#source = source;
    this.#entries = entries;
  }

  get size(): number {
    return this.#entries.size;
  }

  [Symbol.iterator](): Iterator<GgufEntry> {
    return this.#entries.values();
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  entry(key: string): GgufEntry | undefined {
    return this.#entries.get(key);
  }

  string(key: string): string;
  string<T>(key: string, absent: T): string | T;
  string(key: string, ...absent: unknown[]): unknown {
    const entry = this.#entries.get(key);
    if (!entry) return this.#absent(key, absent);
    if (entry.type !== "string") throw this.#wrongType(entry, "a string");
    return decodeUtf8(entry.bytes, this.#place(key));
  }

  /** A number of any type; 64-bit integers past 2^53 throw ERR_LIMIT. */
  number(key: string): number;
  number<T>(key: string, absent: T): number | T;
  number(key: string, ...absent: unknown[]): unknown {
    const entry = this.#entries.get(key);
    if (!entry) return this.#absent(key, absent);
    if (!("value" in entry) || entry.type === "bool") throw this.#wrongType(entry, "a number");
    if (typeof entry.value === "bigint") {
      throw new HalfbyteError("ERR_LIMIT", "integer past 2^53", { place: this.#place(key), got: `${entry.value}` });
    }
    return entry.value;
  }

  /** A number that is an integer, of any type. */
  integer(key: string): number;
  integer<T>(key: string, absent: T): number | T;
  integer(key: string, ...absent: unknown[]): unknown {
    if (!this.#entries.has(key)) return this.#absent(key, absent);
    const value = this.number(key);
    if (!Number.isSafeInteger(value)) {
      throw new HalfbyteError("ERR_FORMAT", "not an integer", { place: this.#place(key), got: String(value) });
    }
    return value;
  }

  boolean(key: string): boolean;
  boolean<T>(key: string, absent: T): boolean | T;
  boolean(key: string, ...absent: unknown[]): unknown {
    const entry = this.#entries.get(key);
    if (!entry) return this.#absent(key, absent);
    if (entry.type !== "bool") throw this.#wrongType(entry, "a boolean");
    return entry.value;
  }

  /** An array of strings, read and decoded now. */
  async strings(key: string): Promise<string[]> {
    const entry = this.#stringArray(key);
    return decodeStrings(await this.#read(entry), entry.length, this.#place(key));
  }

  /** An array of strings, read now and left as the file's bytes, which are not checked to be UTF-8. */
  async stringTable(key: string): Promise<StringTable> {
    const entry = this.#stringArray(key);
    return joinStrings(await this.#read(entry), entry.length, this.#place(key));
  }

  /**
   * An array of numbers or booleans, read now, in the typed array of its type (booleans: u8; 64-bit integers: f64,
   * ERR_LIMIT past 2^53).
   */
  async numbers(key: string): Promise<GgufNumbers> {
    const entry = this.#array(key);
    const { elementType } = entry;
    if (elementType === "string" || elementType === "array") throw this.#wrongType(entry, "an array of numbers");
    return decodeNumbers(await this.#read(entry), elementType, entry.length, this.#place(key));
  }

  /** Any array, arrays of arrays included, read now. */
  async array(key: string): Promise<GgufValue[]> {
    const entry = this.#array(key);
    return decodeArray(await this.#read(entry), entry.elementType, entry.length, this.#place(key));
  }

  /** The elements of any array as the file's bytes, read now. */
  elementBytes(key: string): Promise<Uint8Array<ArrayBuffer>> {
    return this.#read(this.#array(key));
  }

  #array(key: string): ArrayEntry {
    const entry = this.#entries.get(key);
    if (!entry) return this.#absent(key, []) as never;
    if (entry.type !== "array") throw this.#wrongType(entry, "an array");
    return entry;
  }

  #stringArray(key: string): ArrayEntry {
    const entry = this.#array(key);
    if (entry.elementType !== "string") throw this.#wrongType(entry, "an array of strings");
    return entry;
  }

  #read(entry: ArrayEntry): Promise<Uint8Array<ArrayBuffer>> {
    return readBytes(this.#source, entry.offset, entry.byteLength);
  }

  #place(key: string): string {
    return `${this.#source.name}, key ${shown(key)}`;
  }

  #absent(key: string, absent: unknown[]): unknown {
    if (absent.length > 0) return absent[0];
    throw new HalfbyteError("ERR_MISSING", "no such key", { place: this.#place(key) });
  }

  #wrongType(entry: GgufEntry, expected: string): HalfbyteError {
    const got = entry.type === "array" ? `an array of ${entry.length} ${entry.elementType}` : entry.type;
    return new HalfbyteError("ERR_FORMAT", "value of another type", { place: this.#place(entry.key), expected, got });
  }
}
