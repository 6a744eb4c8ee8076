import { fail } from "./failure.ts";
import type { Meter } from "./meter.ts";
import { stringMethod } from "./string-methods.ts";
import { Callable, type Dict, equals, integer, iterate, Namespace, tuple, typeName, type Value } from "./values.ts";

/** `value.name`: methods come before the keys of a dict, as in Python. */
export function attribute(value: Value, name: string, meter: Meter): Value {
  if (value === undefined) return fail(`an undefined value has no attribute ${JSON.stringify(name)}`);
  if (value instanceof Map) return dictMethod(value, name, meter) ?? value.get(name);
  if (value instanceof Namespace) return value.entries.get(name);
  if (typeof value === "string") return stringMethod(value, name, meter);
  if (Array.isArray(value)) return listMethod(value, name, meter);
  return undefined;
}

/** `value[key]`: keys of a dict come before methods. */
export function item(value: Value, key: Value, meter: Meter): Value {
  if (typeof key === "string") {
    if (value instanceof Map && value.has(key)) return value.get(key);
    return attribute(value, key, meter);
  }
  if (value === undefined) return fail("an undefined value has no items");
  if (typeof key !== "number" && typeof key !== "boolean") return undefined;
  if (Array.isArray(value)) return value.at(Number(key));
  if (typeof value === "string") return characterAt(value, Number(key), meter);
  return undefined;
}

/** Code points count, as in Python; from the end when negative. */
function characterAt(text: string, index: number, meter: Meter): string | undefined {
  if (!/[\ud800-\udfff]/.test(text)) return text.at(index);
  meter.step(text.length);
  return Array.from(text).at(index);
}

/** `value[start:stop:step]`. */
export function slice(value: Value, start: Value, stop: Value, step: Value, meter: Meter): Value {
  if (typeof value !== "string" && !Array.isArray(value)) return fail(`${typeName(value)} cannot be sliced`);
  const items: readonly Value[] = iterate(value, meter);
  const by = step === undefined || step === null ? 1 : integer(step, "a slice's step");
  if (by === 0) return fail("a slice's step is zero");
  const length = items.length;
  const bound = (given: Value, absent: number): number => {
    if (given === undefined || given === null) return absent;
    const index = integer(given, "a slice's bound");
    const fromStart = index < 0 ? index + length : index;
    return by > 0 ? Math.min(Math.max(fromStart, 0), length) : Math.min(Math.max(fromStart, -1), length - 1);
  };
  const from = bound(start, by > 0 ? 0 : length - 1);
  const to = bound(stop, by > 0 ? length : -1);
  const out: Value[] = [];
  for (let i = from; by > 0 ? i < to : i > to; i += by) out.push(items[i]);
  if (typeof value !== "string") return out;
  meter.string(value.length);
  return out.join("");
}

function dictMethod(dict: Dict, name: string, meter: Meter): Callable | undefined {
  const count = <T>(values: T): T => {
    meter.step(dict.size);
    return values;
  };
  switch (name) {
    case "items":
      return new Callable(name, () => count(Array.from(dict, ([key, value]) => tuple([key, value]))));
    case "keys":
      return new Callable(name, () => count([...dict.keys()]));
    case "values":
      return new Callable(name, () => count([...dict.values()]));
    case "copy":
      return new Callable(name, () => count(new Map(dict)));
    case "get":
      return new Callable(name, ([key, absent = null]) =>
        typeof key === "string" && dict.has(key) ? dict.get(key) : absent,
      );
    default:
      return undefined;
  }
}

function listMethod(list: Value[], name: string, meter: Meter): Callable | undefined {
  switch (name) {
    case "index":
      return new Callable(name, ([wanted]) => {
        const at = list.findIndex((entry) => equals(entry, wanted, meter));
        return at < 0 ? fail("index() did not find its item") : at;
      });
    case "count":
      return new Callable(name, ([wanted]) => list.filter((entry) => equals(entry, wanted, meter)).length);
    case "copy":
      return new Callable(name, () => {
        meter.step(list.length);
        return [...list];
      });
    default:
      return undefined;
  }
}
