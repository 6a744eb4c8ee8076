import { attribute, item } from "./attributes.ts";
import { fail, quoted } from "./failure.ts";
import { percentFormat } from "./format.ts";
import type { Meter } from "./meter.ts";
import { capitalize, replaceText, splitLines, strip } from "./string-methods.ts";
import { applyTest } from "./tests.ts";
import { toJson } from "./to-json.ts";
import {
  compare,
  equals,
  Float,
  integer,
  isTrue,
  iterate,
  type Keywords,
  lengthOf,
  numeric,
  toText,
  tuple,
  typeName,
  type Value,
} from "./values.ts";

/** Arguments of a filter by position or by name. */
interface Arguments {
  readonly all: readonly Value[];
  get(index: number, name: string): Value;
}

type Filter = (value: Value, args: Arguments, meter: Meter) => Value;

/** `value | name(args)`. Throws ERR_CHAT_TEMPLATE for a filter that is not known. */
export function applyFilter(
  name: string,
  value: Value,
  args: readonly Value[],
  keywords: Keywords,
  meter: Meter,
): Value {
  meter.step();
  const filter = filters.get(name) ?? fail(`the filter ${quoted(name)} is not known`);
  return filter(value, { all: args, get: (index, key) => args[index] ?? keywords.get(key) }, meter);
}

function text(change: (value: string, args: Arguments, meter: Meter) => string): Filter {
  return (value, args, meter) => {
    const given = toText(value, meter);
    meter.string(given.length);
    meter.step(given.length >> 2);
    return change(given, args, meter);
  };
}

/** `attribute="a.0.b"` of an item; the item itself when no attribute is named. */
function pick(value: Value, path: Value, meter: Meter): Value {
  if (path === undefined || path === null) return value;
  let found = value;
  for (const part of typeof path === "string" ? path.split(".") : [path]) {
    meter.step();
    if (found === undefined) return undefined;
    found = item(found, typeof part === "string" && /^\d+$/.test(part) ? Number(part) : part, meter);
  }
  return found;
}

function sortKey(value: Value, caseSensitive: boolean): Value {
  return typeof value === "string" && !caseSensitive ? value.toLowerCase() : value;
}

function sorted(values: readonly Value[], key: (value: Value) => Value, reverse: boolean, meter: Meter): Value[] {
  const keyed = values.map((value) => ({ value, key: key(value) }));
  keyed.sort((a, b) => (reverse ? compare(b.key, a.key, meter) : compare(a.key, b.key, meter)));
  return keyed.map((entry) => entry.value);
}

function extreme(direction: 1 | -1): Filter {
  return (value, args, meter) => {
    const caseSensitive = isTrue(args.get(0, "case_sensitive"));
    const key = (one: Value): Value => sortKey(pick(one, args.get(1, "attribute"), meter), caseSensitive);
    let best: Value;
    for (const [i, one] of iterate(value, meter).entries()) {
      if (i === 0 || compare(key(one), key(best), meter) * direction < 0) best = one;
    }
    return best;
  };
}

function selection(wanted: boolean, byAttribute: boolean): Filter {
  return (value, args, meter) => {
    const rest = byAttribute ? args.all.slice(1) : args.all;
    const [name, ...testArgs] = rest;
    if (name !== undefined && typeof name !== "string") return fail("the name of a test must be a string");
    return iterate(value, meter).filter((one) => {
      const tested = byAttribute ? pick(one, args.all[0], meter) : one;
      return (name === undefined ? isTrue(tested) : applyTest(name, tested, testArgs, meter)) === wanted;
    });
  };
}

function toNumber(value: Value, args: Arguments, whole: boolean, meter: Meter): Value {
  const absent = args.get(0, "default") ?? (whole ? 0 : new Float(0));
  let number = numeric(value);
  if (number === undefined && typeof value === "string") {
    meter.string(value.length);
    const trimmed = strip(value, undefined, "both").replaceAll("_", "");
    const base = whole ? integer(args.get(1, "base") ?? 10, "base") : 10;
    if (base !== 10) number = Number.parseInt(trimmed, base);
    else if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(trimmed)) number = Number(trimmed);
  }
  if (number === undefined || Number.isNaN(number)) return absent;
  if (!whole) return new Float(number);
  return Number.isFinite(number) ? Math.trunc(number) : absent;
}

function round(value: Value, args: Arguments): Value {
  const number = numeric(value) ?? fail(`${typeName(value)} cannot be rounded`);
  const precision = integer(args.get(0, "precision") ?? 0, "precision");
  const method = args.get(1, "method") ?? "common";
  if (typeof value === "number" && method === "common" && precision >= 0) return value;
  const scale = 10 ** precision;
  if (method === "ceil") return new Float(Math.ceil(number * scale) / scale);
  if (method === "floor") return new Float(Math.floor(number * scale) / scale);
  const scaled = number * scale;
  const low = Math.floor(scaled);
  const tie = scaled - low === 0.5;
  return new Float((tie ? low + (Math.abs(low) % 2) : Math.round(scaled)) / scale);
}

function json(value: Value, args: Arguments, meter: Meter): string {
  const indent = args.get(1, "indent");
  const spaces = indent === undefined || indent === null ? undefined : integer(indent, "indent");
  if (spaces !== undefined && spaces > 64) return fail("tojson indents by 64 spaces at most");
  const separators = args.get(2, "separators") ?? [spaces === undefined ? ", " : ",", ": "];
  const [itemSeparator, keySeparator] = Array.isArray(separators) ? separators : [];
  if (typeof itemSeparator !== "string" || typeof keySeparator !== "string") {
    return fail("the separators of tojson must be two strings");
  }
  const ensureAscii = isTrue(args.get(0, "ensure_ascii"));
  const sortKeys = isTrue(args.get(3, "sort_keys"));
  return toJson(
    value,
    {
      indent: spaces === undefined ? undefined : Math.max(spaces, 0),
      ensureAscii,
      itemSeparator,
      keySeparator,
      sortKeys,
    },
    meter,
  );
}

function indent(given: string, args: Arguments, meter: Meter): string {
  const width = args.get(0, "width") ?? 4;
  const count = typeof width === "string" ? 0 : integer(width, "width");
  if (count > 1000) return fail("indent indents by 1000 spaces at most");
  const space = typeof width === "string" ? width : " ".repeat(Math.max(count, 0));
  const blank = isTrue(args.get(2, "blank"));
  const lines = splitLines(`${given}\n`);
  meter.string(given.length + lines.length * space.length);
  const out = lines.map((line, i) => (i > 0 && (blank || line !== "") ? space + line : line)).join("\n");
  return isTrue(args.get(1, "first")) ? space + out : out;
}

function batch(value: Value, args: Arguments, meter: Meter): Value {
  const size = integer(args.get(0, "linecount"), "linecount");
  if (size < 1) return fail("the size of a batch must be positive");
  const fill = args.get(1, "fill_with");
  const items = iterate(value, meter);
  const out: Value[][] = [];
  for (let i = 0; i < items.length; i += size) out.push(items.slice(i, i + size));
  const last = out.at(-1);
  if (last && fill !== undefined && fill !== null) {
    meter.step(size);
    while (last.length < size) last.push(fill);
  }
  return out;
}

function unique(value: Value, args: Arguments, meter: Meter): Value {
  const caseSensitive = isTrue(args.get(0, "case_sensitive"));
  const seen: Value[] = [];
  return iterate(value, meter).filter((one) => {
    const key = sortKey(pick(one, args.get(1, "attribute"), meter), caseSensitive);
    if (seen.some((other) => equals(other, key, meter))) return false;
    seen.push(key);
    return true;
  });
}

function join(value: Value, args: Arguments, meter: Meter): string {
  const parts = iterate(value, meter).map((one) => toText(pick(one, args.get(1, "attribute"), meter), meter));
  const separator = toText(args.get(0, "d") ?? "", meter);
  meter.string(parts.reduce((sum, part) => sum + part.length + separator.length, 0));
  return parts.join(separator);
}

function map(value: Value, args: Arguments, meter: Meter): Value {
  const path = args.get(Number.POSITIVE_INFINITY, "attribute");
  const absent = args.get(Number.POSITIVE_INFINITY, "default");
  const items = iterate(value, meter);
  if (path !== undefined) return items.map((one) => pick(one, path, meter) ?? absent);
  const [name, ...rest] = args.all;
  if (typeof name !== "string") return fail("map needs the name of a filter, or attribute=");
  return items.map((one) => applyFilter(name, one, rest, new Map(), meter));
}

function sum(value: Value, args: Arguments, meter: Meter): Value {
  let total = numeric(args.get(1, "start") ?? 0) ?? 0;
  let float = false;
  for (const one of iterate(value, meter)) {
    const term = pick(one, args.get(0, "attribute"), meter);
    total += numeric(term) ?? fail(`${typeName(term)} cannot be added up`);
    float ||= term instanceof Float;
  }
  return float ? new Float(total) : total;
}

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&#34;",
  "'": "&#39;",
};

const escapeMarkup: Filter = text((given, _args, meter) => {
  const out = given.replace(/[&<>"']/g, (char) => escapes[char]!);
  meter.string(out.length);
  return out;
});

const orDefault: Filter = (value, args) => {
  const replaced = value === undefined || (isTrue(args.get(1, "boolean")) && !isTrue(value));
  return replaced ? (args.get(0, "default_value") ?? "") : value;
};

const length: Filter = (value, _args, meter) => lengthOf(value, meter);

const filters: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  [
    "abs",
    (value) => {
      const number = numeric(value) ?? fail(`${typeName(value)} has no absolute value`);
      return value instanceof Float ? new Float(Math.abs(number)) : Math.abs(number);
    },
  ],
  ["attr", (value, args, meter) => attribute(value, toText(args.get(0, "name"), meter), meter)],
  ["batch", batch],
  ["bool", (value) => isTrue(value)],
  ["capitalize", text(capitalize)],
  ["count", length],
  ["d", orDefault],
  ["default", orDefault],
  [
    "dictsort",
    (value, args, meter) => {
      if (!(value instanceof Map)) return fail(`${typeName(value)} is no dict to sort`);
      const by = args.get(1, "by") === "value" ? 1 : 0;
      const pairs = Array.from(value, ([key, entry]) => tuple([key, entry]));
      const caseSensitive = isTrue(args.get(0, "case_sensitive"));
      return sorted(
        pairs,
        (pair) => sortKey((pair as Value[])[by], caseSensitive),
        isTrue(args.get(2, "reverse")),
        meter,
      );
    },
  ],
  ["e", escapeMarkup],
  ["escape", escapeMarkup],
  ["first", (value, _args, meter) => iterate(value, meter)[0]],
  ["float", (value, args, meter) => toNumber(value, args, false, meter)],
  ["forceescape", escapeMarkup],
  ["format", (value, args, meter) => percentFormat(toText(value, meter), args.all, meter)],
  ["indent", text(indent)],
  ["int", (value, args, meter) => toNumber(value, args, true, meter)],
  [
    "items",
    (value, _args, meter) => {
      if (value === undefined) return [];
      if (!(value instanceof Map)) return fail(`${typeName(value)} has no items`);
      meter.step(value.size);
      return Array.from(value, ([key, entry]) => tuple([key, entry]));
    },
  ],
  ["join", join],
  ["last", (value, _args, meter) => iterate(value, meter).at(-1)],
  ["length", length],
  ["list", (value, _args, meter) => [...iterate(value, meter)]],
  ["lower", text((given) => given.toLowerCase())],
  ["map", map],
  ["max", extreme(-1)],
  ["min", extreme(1)],
  ["reject", selection(false, false)],
  ["rejectattr", selection(false, true)],
  [
    "replace",
    text((given, args, meter) =>
      replaceText(
        given,
        toText(args.get(0, "old"), meter),
        toText(args.get(1, "new"), meter),
        integer(args.get(2, "count") ?? -1, "count"),
        meter,
      ),
    ),
  ],
  [
    "reverse",
    (value, _args, meter) => {
      const reversed = [...iterate(value, meter)].reverse();
      return typeof value === "string" ? reversed.join("") : reversed;
    },
  ],
  ["round", round],
  ["safe", (value) => value],
  ["select", selection(true, false)],
  ["selectattr", selection(true, true)],
  [
    "sort",
    (value, args, meter) => {
      const caseSensitive = isTrue(args.get(1, "case_sensitive"));
      const key = (one: Value): Value => sortKey(pick(one, args.get(2, "attribute"), meter), caseSensitive);
      return sorted(iterate(value, meter), key, isTrue(args.get(0, "reverse")), meter);
    },
  ],
  ["string", (value, _args, meter) => toText(value, meter)],
  ["sum", sum],
  [
    "title",
    text((given) =>
      given
        .split(/([-\s({[<]+)/)
        .map(capitalize)
        .join(""),
    ),
  ],
  ["tojson", json],
  [
    "trim",
    text((given, args) => {
      const characters = args.get(0, "chars");
      return strip(given, typeof characters === "string" ? characters : undefined, "both");
    }),
  ],
  ["unique", unique],
  ["upper", text((given) => given.toUpperCase())],
]);
