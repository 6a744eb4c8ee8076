import { fail } from "./failure.ts";
import type { Meter } from "./meter.ts";
import { Callable, integer, isTrue, iterate, type Keywords, lengthOf, tuple, typeName, type Value } from "./values.ts";

type Method = (text: string, args: readonly Value[], meter: Meter, keywords: Keywords) => Value;

const PYTHON_SPACE =
  "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000";

/** Python's `strip`: white space, or the characters given, off the ends asked for. */
export function strip(text: string, characters: string | undefined, ends: "left" | "right" | "both"): string {
  const set = new Set(characters ?? PYTHON_SPACE);
  const units = Array.from(text);
  let start = 0;
  let end = units.length;
  if (ends !== "right") while (start < end && set.has(units[start]!)) start++;
  if (ends !== "left") while (end > start && set.has(units[end - 1]!)) end--;
  return start === 0 && end === units.length ? text : units.slice(start, end).join("");
}

/** Python's `replace`, at most `count` times if that is not negative. */
export function replaceText(text: string, from: string, to: string, count: number, meter: Meter): string {
  meter.search(text, from);
  const parts = from === "" ? ["", ...Array.from(text), ""] : text.split(from);
  const kept = count < 0 ? parts.length - 1 : Math.min(count, parts.length - 1);
  meter.step(parts.length);
  meter.string(text.length + kept * to.length);
  return (
    parts
      .slice(0, kept)
      .map((part) => part + to)
      .join("") + parts.slice(kept).join(from)
  );
}

/** First letter large, the rest small. */
export function capitalize(text: string): string {
  const first = String.fromCodePoint(text.codePointAt(0) ?? 0).slice(0, text.length);
  return first.toUpperCase() + text.slice(first.length).toLowerCase();
}

/** Python's `splitlines()`. */
export function splitLines(text: string, keepEnds = false): string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Python ends lines at them
  const lines = text.split(/(\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])/);
  const out: string[] = [];
  for (let i = 0; i < lines.length; i += 2) {
    if (i === lines.length - 1 && lines[i] === "") break;
    out.push(lines[i]! + (keepEnds ? (lines[i + 1] ?? "") : ""));
  }
  return out;
}

function splitText(text: string, separator: Value, limit: number, fromRight: boolean, meter: Meter): string[] {
  if (separator === undefined || separator === null) return splitAtSpace(text, limit, fromRight, meter);
  const by = stringArgument(separator, "split");
  if (by === "") return fail("split() needs a separator that is not empty");
  meter.search(text, by);
  const parts = text.split(by);
  meter.step(parts.length);
  if (limit < 0 || parts.length <= limit + 1) return parts;
  if (fromRight) {
    const cut = parts.length - limit;
    return [parts.slice(0, cut).join(by), ...parts.slice(cut)];
  }
  return [...parts.slice(0, limit), parts.slice(limit).join(by)];
}

function splitAtSpace(text: string, limit: number, fromRight: boolean, meter: Meter): string[] {
  const space = new Set(PYTHON_SPACE);
  const words: { start: number; end: number }[] = [];
  let start: number | undefined;
  for (let i = 0; i <= text.length; i++) {
    const blank = i === text.length || space.has(text[i]!);
    if (blank && start !== undefined) words.push({ start, end: i });
    if (blank) start = undefined;
    else start ??= i;
  }
  meter.step(words.length + (text.length >> 2));
  const plain = words.map((word) => text.slice(word.start, word.end));
  if (limit < 0 || words.length <= limit) return plain;
  if (fromRight) {
    const rest = text.slice(0, words[words.length - limit - 1]!.end);
    return [strip(rest, undefined, "left"), ...plain.slice(words.length - limit)];
  }
  return [...plain.slice(0, limit), strip(text.slice(words[limit]!.start), undefined, "right")];
}

function stringArgument(value: Value, name: string): string {
  return typeof value === "string" ? value : fail(`${name}() needs a string, not ${typeName(value)}`);
}

function affixes(value: Value, name: string): string[] {
  return Array.isArray(value) ? value.map((item) => stringArgument(item, name)) : [stringArgument(value, name)];
}

function stripMethod(ends: "left" | "right" | "both"): Method {
  return (text, [characters], meter) => {
    meter.string(text.length);
    meter.step(text.length >> 2);
    const set = characters === undefined || characters === null ? undefined : stringArgument(characters, "strip");
    return strip(text, set, ends);
  };
}

function mapped(change: (text: string) => string): Method {
  return (text, _args, meter) => {
    meter.string(text.length);
    return change(text);
  };
}

function every(pattern: RegExp): Method {
  return (text, _args, meter) => {
    meter.step(1 + (text.length >> 4));
    return pattern.test(text);
  };
}

function findMethod(name: string, last: boolean, strict: boolean): Method {
  return (text, [part], meter) => {
    const wanted = stringArgument(part, name);
    meter.search(text, wanted);
    const at = last ? text.lastIndexOf(wanted) : text.indexOf(wanted);
    if (at < 0) return strict ? fail(`${name}() did not find its text`) : -1;
    return lengthOf(text.slice(0, at), meter);
  };
}

const methods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ["upper", mapped((text) => text.toUpperCase())],
  ["lower", mapped((text) => text.toLowerCase())],
  ["capitalize", mapped(capitalize)],
  ["title", mapped((text) => text.replace(/\p{L}+/gu, capitalize))],
  [
    "swapcase",
    mapped((text) => text.replace(/\p{L}/gu, (c) => (c === c.toUpperCase() ? c.toLowerCase() : c.toUpperCase()))),
  ],
  ["strip", stripMethod("both")],
  ["lstrip", stripMethod("left")],
  ["rstrip", stripMethod("right")],
  ["isdigit", every(/^\p{Nd}+$/u)],
  ["isnumeric", every(/^\p{N}+$/u)],
  ["isalpha", every(/^\p{L}+$/u)],
  ["isalnum", every(/^[\p{L}\p{N}]+$/u)],
  ["isspace", (text, _args, meter) => text !== "" && splitAtSpace(text, -1, false, meter).length === 0],
  ["isupper", tested((text) => text === text.toUpperCase() && text !== text.toLowerCase())],
  ["islower", tested((text) => text === text.toLowerCase() && text !== text.toUpperCase())],
  ["find", findMethod("find", false, false)],
  ["rfind", findMethod("rfind", true, false)],
  ["index", findMethod("index", false, true)],
  [
    "count",
    (text, [part], meter) => {
      const wanted = stringArgument(part, "count");
      meter.search(text, wanted);
      return wanted === "" ? lengthOf(text, meter) + 1 : text.split(wanted).length - 1;
    },
  ],
  [
    "startswith",
    (text, [prefix], meter) => {
      meter.step();
      return affixes(prefix, "startswith").some((item) => text.startsWith(item));
    },
  ],
  [
    "endswith",
    (text, [suffix], meter) => {
      meter.step();
      return affixes(suffix, "endswith").some((item) => text.endsWith(item));
    },
  ],
  [
    "removeprefix",
    (text, [prefix]) => {
      const part = stringArgument(prefix, "removeprefix");
      return text.startsWith(part) ? text.slice(part.length) : text;
    },
  ],
  [
    "removesuffix",
    (text, [suffix]) => {
      const part = stringArgument(suffix, "removesuffix");
      return part !== "" && text.endsWith(part) ? text.slice(0, -part.length) : text;
    },
  ],
  [
    "split",
    (text, args, meter, keywords) =>
      splitText(
        text,
        args[0] ?? keywords.get("sep"),
        integer(args[1] ?? keywords.get("maxsplit") ?? -1, "maxsplit"),
        false,
        meter,
      ),
  ],
  [
    "rsplit",
    (text, args, meter, keywords) =>
      splitText(
        text,
        args[0] ?? keywords.get("sep"),
        integer(args[1] ?? keywords.get("maxsplit") ?? -1, "maxsplit"),
        true,
        meter,
      ),
  ],
  [
    "splitlines",
    (text, args, meter, keywords) => {
      meter.string(text.length);
      return splitLines(text, isTrue(args[0] ?? keywords.get("keepends") ?? false));
    },
  ],
  [
    "partition",
    (text, [separator], meter) => {
      const by = stringArgument(separator, "partition");
      meter.search(text, by);
      const at = text.indexOf(by);
      return at < 0 ? tuple([text, "", ""]) : tuple([text.slice(0, at), by, text.slice(at + by.length)]);
    },
  ],
  [
    "rpartition",
    (text, [separator], meter) => {
      const by = stringArgument(separator, "rpartition");
      meter.search(text, by);
      const at = text.lastIndexOf(by);
      return at < 0 ? tuple(["", "", text]) : tuple([text.slice(0, at), by, text.slice(at + by.length)]);
    },
  ],
  [
    "replace",
    (text, args, meter, keywords) =>
      replaceText(
        text,
        stringArgument(args[0], "replace"),
        stringArgument(args[1], "replace"),
        integer(args[2] ?? keywords.get("count") ?? -1, "count"),
        meter,
      ),
  ],
  [
    "join",
    (text, [items], meter) => {
      const parts = iterate(items, meter).map((item) => stringArgument(item, "join"));
      meter.string(parts.reduce((sum, part) => sum + part.length + text.length, 0));
      return parts.join(text);
    },
  ],
]);

function tested(test: (text: string) => boolean): Method {
  return (text, _args, meter) => {
    meter.string(text.length);
    return test(text);
  };
}

/** A method of `str`, bound to its text; undefined where there is none of that name. */
export function stringMethod(text: string, name: string, meter: Meter): Callable | undefined {
  const method = methods.get(name);
  return method && new Callable(name, (args, keywords) => method(text, args, meter, keywords));
}
