import { fail } from "./failure.ts";
import type { Meter } from "./meter.ts";
import { numeric, toRepr, toText, typeName, type Value } from "./values.ts";

const MAX_WIDTH = 1000;

/** Python's `text % values`, for `%s %r %d %i %f %x %%` with flags, width and precision. */
export function percentFormat(text: string, values: readonly Value[], meter: Meter): string {
  let used = 0;
  const next = (): Value => (used < values.length ? values[used++] : fail("too few values for a format"));
  const out = text.replace(/%([-0+ ]*)(\d*)(?:\.(\d+))?(.?)/gs, (match, flags: string, width, precision, kind) => {
    meter.step();
    if (kind === "%") return "%";
    if (Number(width || 0) > MAX_WIDTH || Number(precision || 0) > 100)
      return fail(`a format is wider than ${MAX_WIDTH}`);
    const field = formatField(kind, precision, next, meter, match);
    const sign = /^[dif]$/.test(kind) && flags.includes("+") && !field.startsWith("-") ? "+" : "";
    if (flags.includes("-")) return (sign + field).padEnd(Number(width || 0));
    if (!flags.includes("0") || kind === "s") return (sign + field).padStart(Number(width || 0));
    const negative = field.startsWith("-") ? "-" : sign;
    return negative + field.replace(/^-/, "").padStart(Number(width || 0) - negative.length, "0");
  });
  meter.string(out.length);
  if (used < values.length) fail("too many values for a format");
  return out;
}

function formatField(
  kind: string,
  precision: string | undefined,
  next: () => Value,
  meter: Meter,
  match: string,
): string {
  if (kind === "s" || kind === "r") {
    const value = next();
    const text = kind === "s" ? toText(value, meter) : toRepr(value, meter);
    return precision === undefined ? text : Array.from(text).slice(0, Number(precision)).join("");
  }
  if (!/^[dixXf]$/.test(kind)) return fail(`the format ${JSON.stringify(match)} is not known`);
  const value = next();
  const number = numeric(value);
  if (number === undefined) return fail(`the format ${JSON.stringify(match)} needs a number, not ${typeName(value)}`);
  if (kind === "f") return number.toFixed(Number(precision ?? 6));
  const whole = Math.trunc(number);
  if (kind === "x") return whole.toString(16);
  return kind === "X" ? whole.toString(16).toUpperCase() : String(whole);
}

const months = "January February March April May June July August September October November December".split(" ");
const days = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");

/** `strftime` in the C locale, local time: the fields that dates in templates use. */
export function strftime(date: Date, format: string): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  return format.replace(/%(-?)(.)/gs, (match, short: string, field: string) => {
    const padded = (value: number): string => (short ? String(value) : two(value));
    switch (field) {
      case "Y":
        return String(date.getFullYear());
      case "y":
        return two(date.getFullYear() % 100);
      case "m":
        return padded(date.getMonth() + 1);
      case "d":
        return padded(date.getDate());
      case "e":
        return String(date.getDate()).padStart(2);
      case "B":
        return months[date.getMonth()]!;
      case "b":
      case "h":
        return months[date.getMonth()]!.slice(0, 3);
      case "A":
        return days[date.getDay()]!;
      case "a":
        return days[date.getDay()]!.slice(0, 3);
      case "H":
        return padded(date.getHours());
      case "I":
        return padded(date.getHours() % 12 || 12);
      case "M":
        return padded(date.getMinutes());
      case "S":
        return padded(date.getSeconds());
      case "p":
        return date.getHours() < 12 ? "AM" : "PM";
      case "F":
        return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
      case "T":
        return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
      case "%":
        return "%";
      default:
        return fail(`strftime_now does not know the field ${match}`);
    }
  });
}
