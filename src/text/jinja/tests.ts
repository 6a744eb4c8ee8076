import { fail, quoted } from "./failure.ts";
import type { Meter } from "./meter.ts";
import { Callable, compare, contains, equals, Float, Namespace, numeric, typeName, type Value } from "./values.ts";

type Test = (value: Value, args: readonly Value[], meter: Meter) => boolean;

function wholeNumber(value: Value): number {
  const number = numeric(value);
  return number === undefined ? fail(`${typeName(value)} is neither odd nor even`) : number;
}

const isNumber: Test = (value) => numeric(value) !== undefined;

const tests: ReadonlyMap<string, Test> = new Map<string, Test>([
  ["defined", (value) => value !== undefined],
  ["undefined", (value) => value === undefined],
  ["none", (value) => value === null],
  ["true", (value) => value === true],
  ["false", (value) => value === false],
  ["boolean", (value) => typeof value === "boolean"],
  ["integer", (value) => typeof value === "number"],
  ["float", (value) => value instanceof Float],
  ["number", isNumber],
  ["string", (value) => typeof value === "string"],
  ["mapping", (value) => value instanceof Map],
  [
    "sequence",
    (value) => value === undefined || typeof value === "string" || Array.isArray(value) || value instanceof Map,
  ],
  [
    "iterable",
    (value) => value === undefined || typeof value === "string" || Array.isArray(value) || value instanceof Map,
  ],
  ["callable", (value) => value instanceof Callable],
  ["lower", (value) => typeof value === "string" && value === value.toLowerCase() && value !== value.toUpperCase()],
  ["upper", (value) => typeof value === "string" && value === value.toUpperCase() && value !== value.toLowerCase()],
  ["odd", (value) => wholeNumber(value) % 2 !== 0],
  ["even", (value) => wholeNumber(value) % 2 === 0],
  ["divisibleby", (value, [by]) => wholeNumber(value) % wholeNumber(by) === 0],
  ["in", (value, [whole], meter) => contains(whole, value, meter)],
  ["sameas", (value, [other]) => value === other && !(value instanceof Namespace)],
  ...["eq", "equalto", "=="].map((name): [string, Test] => [
    name,
    (value, [other], meter) => equals(value, other, meter),
  ]),
  ...["ne", "!="].map((name): [string, Test] => [name, (value, [other], meter) => !equals(value, other, meter)]),
  ...["lt", "lessthan", "<"].map((name): [string, Test] => [name, (a, [b], meter) => compare(a, b, meter) < 0]),
  ...["le", "<="].map((name): [string, Test] => [name, (a, [b], meter) => compare(a, b, meter) <= 0]),
  ...["gt", "greaterthan", ">"].map((name): [string, Test] => [name, (a, [b], meter) => compare(a, b, meter) > 0]),
  ...["ge", ">="].map((name): [string, Test] => [name, (a, [b], meter) => compare(a, b, meter) >= 0]),
]);

/** `value is name(args)`. Throws ERR_CHAT_TEMPLATE for a test that is not known. */
export function applyTest(name: string, value: Value, args: readonly Value[], meter: Meter): boolean {
  meter.step();
  const test = tests.get(name) ?? fail(`the test ${quoted(name)} is not known`);
  return test(value, args, meter);
}
