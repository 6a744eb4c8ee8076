import { fail } from "./failure.ts";
import { percentFormat } from "./format.ts";
import type { Meter } from "./meter.ts";
import { compare, contains, equals, Float, numeric, Tuple, toText, typeName, type Value } from "./values.ts";

/** `left operator right`, with Python's meaning; `and` and `or` are not among them. */
export function applyBinary(operator: string, left: Value, right: Value, meter: Meter): Value {
  switch (operator) {
    case "==":
      return equals(left, right, meter);
    case "!=":
      return !equals(left, right, meter);
    case "in":
      return contains(right, left, meter);
    case "not in":
      return !contains(right, left, meter);
    case "~":
      return concatenate(toText(left, meter), toText(right, meter), meter);
    case "<":
      return compare(left, right, meter) < 0;
    case "<=":
      return compare(left, right, meter) <= 0;
    case ">":
      return compare(left, right, meter) > 0;
    case ">=":
      return compare(left, right, meter) >= 0;
    default:
      return arithmetic(operator, left, right, meter);
  }
}

function arithmetic(operator: string, left: Value, right: Value, meter: Meter): Value {
  const a = numeric(left);
  const b = numeric(right);
  if (a !== undefined && b !== undefined) {
    return calculate(operator, a, b, left instanceof Float || right instanceof Float);
  }
  if (operator === "+") {
    if (typeof left === "string" && typeof right === "string") return concatenate(left, right, meter);
    if (Array.isArray(left) && Array.isArray(right)) {
      meter.step(left.length + right.length);
      return [...left, ...right];
    }
  }
  if (operator === "*") {
    if (typeof right === "number") return repeat(left, right, meter);
    if (typeof left === "number") return repeat(right, left, meter);
  }
  if (operator === "%" && typeof left === "string") {
    return percentFormat(left, right instanceof Tuple ? right : [right], meter);
  }
  return fail(`${operator} does not work between ${typeName(left)} and ${typeName(right)}`);
}

function concatenate(left: string, right: string, meter: Meter): string {
  meter.joined(left.length + right.length);
  return left + right;
}

function repeat(value: Value, count: number, meter: Meter): Value {
  const times = Math.max(count, 0);
  if (typeof value === "string") {
    meter.string(value.length * times);
    return value.repeat(times);
  }
  if (!Array.isArray(value)) return fail(`${typeName(value)} cannot be repeated`);
  meter.step(value.length * times);
  return Array.from({ length: times }, () => value).flat();
}

function calculate(operator: string, a: number, b: number, float: boolean): Value {
  if ((operator === "/" || operator === "//" || operator === "%") && b === 0)
    return fail("a number is divided by zero");
  const result = calculated(operator, a, b);
  if (!Number.isFinite(result)) return fail(`${a} ${operator} ${b} is too large`);
  return float || operator === "/" || (operator === "**" && b < 0) ? new Float(result) : result;
}

function calculated(operator: string, a: number, b: number): number {
  switch (operator) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "/":
      return a / b;
    case "//":
      return Math.floor(a / b);
    case "%":
      return a - b * Math.floor(a / b);
    case "**":
      return a ** b;
    default:
      return fail(`the operator ${operator} is not known`);
  }
}

/** `-value` and `+value`. */
export function applySign(operator: string, value: Value): Value {
  const number = numeric(value) ?? fail(`${operator} does not work on ${typeName(value)}`);
  const signed = operator === "-" ? 0 - number : number;
  return value instanceof Float ? new Float(operator === "-" ? -number : number) : signed;
}
