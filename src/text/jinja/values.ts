import { fail } from "./failure.ts";
import type { Meter } from "./meter.ts";

/** A value of the template language, with Python's meaning. Integers are numbers; null is None. */
export type Value = undefined | null | boolean | number | Float | string | Value[] | Dict | Namespace | Callable;

/** Keys are strings: JSON has no others. */
export type Dict = Map<string, Value>;

/** A number that prints with a point. */
export class Float {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

/** A list that prints as Python's tuples do. */
export class Tuple extends Array<Value> {
  // What is made from a tuple by slicing or filtering is a list.
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }
}

export function tuple(items: readonly Value[]): Tuple {
  const made = new Tuple();
  for (const value of items) made.push(value);
  return made;
}

/** What `namespace()` makes: the only thing a template can change from inside a loop. */
export class Namespace {
  readonly entries: Dict;
  constructor(entries: Dict) {
    this.entries = entries;
  }
}

export type Keywords = ReadonlyMap<string, Value>;

export class Callable {
  readonly name: string;
  readonly call: (args: readonly Value[], keywords: Keywords) => Value;
  constructor(name: string, call: (args: readonly Value[], keywords: Keywords) => Value) {
    this.name = name;
    this.call = call;
  }
}

// A conversation or tool schema nests less; deeper ones would exhaust the stack in printing or comparing.
const MAX_DEPTH = 200;

/** The value of JSON-like data. Throws ERR_CHAT_TEMPLATE for what nests too deep, or is no data. */
export function fromData(data: unknown, meter: Meter, depth = 0): Value {
  if (depth > MAX_DEPTH) fail(`a variable nests deeper than ${MAX_DEPTH} levels`);
  if (typeof data === "string") meter.input(data.length);
  if (data === undefined || data === null || typeof data === "boolean" || typeof data === "string") return data;
  if (typeof data === "number") return Number.isInteger(data) ? data : new Float(data);
  if (Array.isArray(data)) return data.map((item) => fromData(item, meter, depth + 1));
  if (typeof data === "object") {
    const dict: Dict = new Map();
    for (const [key, value] of Object.entries(data)) {
      if (value !== undefined) dict.set(key, fromData(value, meter, depth + 1));
    }
    return dict;
  }
  return fail(`a variable is a ${typeof data}, which is no data`);
}

export function typeName(value: Value): string {
  if (value === undefined) return "undefined";
  if (value === null) return "None";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "number") return "int";
  if (typeof value === "string") return "str";
  if (value instanceof Float) return "float";
  if (Array.isArray(value)) return "list";
  if (value instanceof Map) return "dict";
  return value instanceof Namespace ? "namespace" : "function";
}

export function isTrue(value: Value): boolean {
  if (value instanceof Float) return value.value !== 0;
  if (Array.isArray(value)) return value.length > 0;
  if (value instanceof Map) return value.size > 0;
  return Boolean(value);
}

/** The number behind an int, a float or a bool. */
export function numeric(value: Value): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return Number(value);
  return value instanceof Float ? value.value : undefined;
}

/** An integer argument. */
export function integer(value: Value, what: string): number {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return Number(value);
  return fail(`${what} must be an integer, not ${typeName(value)}`);
}

/** Python's `str()`. */
export function toText(value: Value, meter: Meter): string {
  if (typeof value === "string") return value;
  return value === undefined ? "" : toRepr(value, meter);
}

/** Python's `repr()`. */
export function toRepr(value: Value, meter: Meter): string {
  meter.step();
  if (value === undefined) return "Undefined";
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "number") return integerText(value);
  if (value instanceof Float) return floatText(value.value);
  if (typeof value === "string") return stringRepr(value, meter);
  let text: string;
  if (Array.isArray(value)) text = listRepr(value, meter);
  else if (value instanceof Map) text = dictRepr(value, meter);
  else if (value instanceof Namespace) text = `<Namespace ${dictRepr(value.entries, meter)}>`;
  else return fail(`the function ${value.name} cannot be printed`);
  meter.string(text.length);
  return text;
}

function listRepr(list: readonly Value[], meter: Meter): string {
  const items = list.map((item) => toRepr(item, meter)).join(", ");
  if (!(list instanceof Tuple)) return `[${items}]`;
  return list.length === 1 ? `(${items},)` : `(${items})`;
}

function dictRepr(dict: Dict, meter: Meter): string {
  const entries = Array.from(dict, ([key, value]) => `${stringRepr(key, meter)}: ${toRepr(value, meter)}`);
  return `{${entries.join(", ")}}`;
}

function stringRepr(text: string, meter: Meter): string {
  meter.string(text.length);
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const named: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", [quote]: `\\${quote}` };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Python escapes these
  const body = text.replace(/['"\\\x00-\x1f\x7f-\xa0\xad]/g, (char) => {
    if (named[char]) return named[char];
    return char === "'" || char === '"' ? char : `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
  return quote + body + quote;
}

function integerText(value: number): string {
  return Number.isSafeInteger(value) ? String(value) : BigInt(value).toString();
}

/** Python prints the shortest digits that read back the same, as JavaScript does, but chooses the exponent elsewhere. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) {
    const [digits, exponent] = value.toExponential().split("e") as [string, string];
    return `${digits}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
  }
  if (Object.is(value, -0)) return "-0.0";
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

export function equals(a: Value, b: Value, meter: Meter): boolean {
  meter.step();
  const left = numeric(a);
  const right = numeric(b);
  if (left !== undefined || right !== undefined) return left === right;
  if (typeof a === "string" && typeof b === "string") {
    meter.step(Math.min(a.length, b.length) >> 4);
    return a === b;
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, i) => equals(item, b[i], meter));
  }
  if (a instanceof Map && b instanceof Map) {
    return a.size === b.size && Array.from(a).every(([key, value]) => b.has(key) && equals(value, b.get(key), meter));
  }
  return a === b;
}

/** Negative, zero or positive, as in sorting; fails for values that Python cannot order. */
export function compare(a: Value, b: Value, meter: Meter): number {
  meter.step();
  const left = numeric(a);
  const right = numeric(b);
  if (left !== undefined && right !== undefined) return left - right;
  if (typeof a === "string" && typeof b === "string") {
    meter.step(Math.min(a.length, b.length) >> 4);
    return compareCodePoints(a, b);
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    for (let i = 0; i < Math.min(a.length, b.length); i++) {
      if (!equals(a[i], b[i], meter)) return compare(a[i], b[i], meter);
    }
    return a.length - b.length;
  }
  return fail(`${typeName(a)} and ${typeName(b)} cannot be ordered`);
}

function compareCodePoints(a: string, b: string): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    if (a.charCodeAt(i) !== b.charCodeAt(i)) return a.codePointAt(i)! - b.codePointAt(i)!;
  }
  return a.length - b.length;
}

/** What a loop goes over: items, keys, characters; nothing for undefined. */
export function iterate(value: Value, meter: Meter): readonly Value[] {
  if (value === undefined) return [];
  if (Array.isArray(value)) {
    meter.step(value.length);
    return value;
  }
  if (value instanceof Map) {
    meter.step(value.size);
    return [...value.keys()];
  }
  if (typeof value === "string") {
    meter.step(value.length);
    return Array.from(value);
  }
  return fail(`${typeName(value)} cannot be iterated over`);
}

/** Python's `len()`: of a string, its code points. */
export function lengthOf(value: Value, meter: Meter): number {
  if (value === undefined) return 0;
  if (Array.isArray(value)) return value.length;
  if (value instanceof Map) return value.size;
  if (typeof value !== "string") return fail(`${typeName(value)} has no length`);
  meter.step(1 + (value.length >> 4));
  let pairs = 0;
  for (let i = 0; i + 1 < value.length; i++) {
    if (value.charCodeAt(i) >>> 10 === 0x36 && value.charCodeAt(i + 1) >>> 10 === 0x37) pairs++;
  }
  return value.length - pairs;
}

/** Python's `part in whole`. */
export function contains(whole: Value, part: Value, meter: Meter): boolean {
  if (typeof whole === "string") {
    if (typeof part !== "string") return fail(`${typeName(part)} cannot be searched in a string`);
    meter.search(whole, part);
    return whole.includes(part);
  }
  if (whole instanceof Map) return typeof part === "string" && whole.has(part);
  return iterate(whole, meter).some((item) => equals(item, part, meter));
}
