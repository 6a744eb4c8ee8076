import { fail } from "./failure.ts";
import type { Meter } from "./meter.ts";
import { Float, floatText, typeName, type Value } from "./values.ts";

export interface JsonStyle {
  /** Spaces a level, or undefined for one line. */
  readonly indent: number | undefined;
  readonly ensureAscii: boolean;
  readonly itemSeparator: string;
  readonly keySeparator: string;
  readonly sortKeys: boolean;
}

/** Python's `json.dumps`, which transformers puts in the place of Jinja's own `tojson`. */
export function toJson(value: Value, style: JsonStyle, meter: Meter, depth = 0): string {
  meter.step();
  if (value === null || typeof value === "boolean" || typeof value === "number") return String(value);
  if (value instanceof Float) return floatText(value.value);
  if (typeof value === "string") return jsonString(value, style, meter);
  let items: string[];
  let brackets: [string, string];
  if (Array.isArray(value)) {
    items = value.map((item) => toJson(item, style, meter, depth + 1));
    brackets = ["[", "]"];
  } else if (value instanceof Map) {
    const entries = [...value];
    if (style.sortKeys) entries.sort(([a], [b]) => (a < b ? -1 : 1));
    items = entries.map(
      ([key, item]) => jsonString(key, style, meter) + style.keySeparator + toJson(item, style, meter, depth + 1),
    );
    brackets = ["{", "}"];
  } else return fail(`${typeName(value)} cannot be written as JSON`);
  const [open, close] = brackets;
  if (items.length === 0) return open + close;
  const line = style.indent === undefined ? "" : `\n${" ".repeat(style.indent * (depth + 1))}`;
  const end = style.indent === undefined ? "" : `\n${" ".repeat(style.indent * depth)}`;
  meter.step(items.length * (1 + (line.length >> 4)));
  const text = open + line + items.join(style.itemSeparator + line) + end + close;
  meter.string(text.length);
  return text;
}

function jsonString(text: string, style: JsonStyle, meter: Meter): string {
  meter.string(text.length);
  const json = JSON.stringify(text);
  if (!style.ensureAscii) return json;
  return json.replace(/[\x7f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
