import { type Automaton, automatonExpression, combine, compilePattern, type Pattern } from "../automaton.ts";
import { codePoints, utf8 } from "../code-points.ts";
import type { Expression, ExpressionPool } from "../expression.ts";
import { grammarError } from "../grammar-error.ts";

/** What a schema says of numbers; bounds are within. */
export interface NumberRule {
  readonly integer: boolean;
  readonly min: number;
  readonly max: number;
  /** Integers of which the number is a multiple. */
  readonly multiples: readonly number[];
}

/** Integers without a bound have at most so many digits: up to there every integer is a double of its own. */
const FREE_DIGITS = 15;
/** Digits after the point, at most: doubles are told apart by 17. */
const FRACTION_DIGITS = 16;
/** Digits of a bound; 1e300 is no bound that an answer's length should come near. */
const MAX_BOUND_DIGITS = 40;
/** States of the automaton of remainders. */
const MAX_MULTIPLE = 5000;

/** The texts of all numbers by a rule, without needless zeros. Throws ERR_GRAMMAR for what digits cannot tell. */
export function numberExpression(pool: ExpressionPool, rule: NumberRule, place: string): Expression {
  const { min, max } = rule;
  const whole = rule.integer || rule.multiples.length > 0;
  const magnitudes = (low: number, high: number): Expression => {
    const automaton = whole ? integers(low, high, rule.multiples, place) : decimals(low, high, place);
    return automatonExpression(pool, automaton, (set) => utf8(pool, set));
  };
  const ways: Expression[] = [];
  if (min <= max && max >= 0) ways.push(magnitudes(Math.max(0, min), max));
  if (min <= max && min < 0)
    ways.push(pool.sequence(pool.byte(0x2d), magnitudes(max < 0 ? -max : Number.MIN_VALUE, -min)));
  return pool.choice(...ways);
}

/** The nearest bound within, from one that is not; no nearer than the digits of a number can tell. */
export function boundWithin(bound: number, direction: 1 | -1): number {
  const finest = 10 ** -FRACTION_DIGITS;
  const moved = bound + direction * finest;
  return moved === bound ? nextDouble(bound, direction) : moved;
}

function nextDouble(value: number, direction: 1 | -1): number {
  const bits = new BigInt64Array(1);
  const double = new Float64Array(bits.buffer);
  double[0] = value;
  bits[0]! += BigInt(value > 0 ? direction : -direction);
  return double[0]!;
}

function integers(low: number, high: number, multiples: readonly number[], place: string): Automaton {
  const from = BigInt(plainDecimal(Math.ceil(low), place));
  const to = high === Infinity ? freeEnd(from) : BigInt(plainDecimal(Math.floor(high), place));
  let automaton = compilePattern(integersBetween(from, to), place);
  for (const multiple of multiples) automaton = combine(automaton, multiplesOf(multiple, place), place);
  return automaton;
}

/** The last integer of 15 digits, or of one more than the bound on the other side. */
function freeEnd(bound: bigint): bigint {
  return 10n ** BigInt(Math.max(FREE_DIGITS, String(bound).length + 1)) - 1n;
}

/** Decimal texts of the integers from `low` to `high`, neither below 0. */
function integersBetween(low: bigint, high: bigint): Pattern {
  const ways: Pattern[] = [];
  for (let from = low; from <= high; ) {
    const digits = String(from).length;
    const last = 10n ** BigInt(digits) - 1n;
    const to = last < high ? last : high;
    ways.push(sameLength(String(from), String(to)));
    from = to + 1n;
  }
  return choice(...ways);
}

/** Digits from `low` to `high`, texts of one length. */
function sameLength(low: string, high: string): Pattern {
  if (low === "") return sequence();
  const [a, b] = [Number(low[0]), Number(high[0])];
  const rest = low.length - 1;
  const [zeros, nines] = ["0".repeat(rest), "9".repeat(rest)];
  if (low.slice(1) === zeros && high.slice(1) === nines) return sequence(digit(a, b), repeat(digit(0, 9), rest, rest));
  if (a === b) return sequence(digit(a, a), sameLength(low.slice(1), high.slice(1)));
  const ways = [sequence(digit(a, a), sameLength(low.slice(1), nines))];
  if (a + 1 < b) ways.push(sequence(digit(a + 1, b - 1), repeat(digit(0, 9), rest, rest)));
  ways.push(sequence(digit(b, b), sameLength(zeros, high.slice(1))));
  return choice(...ways);
}

/** Integers with a remainder of 0, read digit by digit. */
function multiplesOf(multiple: number, place: string): Automaton {
  if (!(multiple >= 1) || !Number.isInteger(multiple) || multiple > MAX_MULTIPLE)
    throw grammarError("multiples of this cannot be enforced", place, {
      expected: `an integer from 1 to ${MAX_MULTIPLE}`,
      got: String(multiple),
      remedy: "validators disagree on fractions, which few doubles are",
    });
  // State 0 is before all digits, state 1 + r after digits of remainder r.
  const from = (remainder: number): Automaton["edges"][number] =>
    Array.from({ length: 10 }, (_, value) => ({
      set: codePoints([[0x30 + value, 0x30 + value]]),
      to: 1 + ((remainder * 10 + value) % multiple),
    }));
  const states = Array.from({ length: multiple }, (_, remainder) => from(remainder));
  return {
    edges: [from(0), ...states],
    accepting: [false, ...states.map((_, remainder) => remainder === 0)],
  };
}

/** Numbers of no sign from `low` to `high`. Rounding to doubles keeps the order of texts, so that the bounds hold after it. */
function decimals(low: number, high: number, place: string): Automaton {
  const whole = choice(digit(0, 0), sequence(digit(1, 9), repeat(digit(0, 9), 0, wholeDigits(low, high, place) - 1)));
  const fraction = sequence(text("."), repeat(digit(0, 9), 1, FRACTION_DIGITS));
  // An exponent hides the size of a number from what reads digits.
  const free = low <= Number.MIN_VALUE && high === Infinity;
  const exponent = sequence(choice(text("e"), text("E")), optional(choice(text("+"), text("-"))), repeat(digit(0, 9), 1, 2)); // biome-ignore format: one line
  let automaton = compilePattern(sequence(whole, optional(fraction), ...(free ? [optional(exponent)] : [])), place);
  if (low > Number.MIN_VALUE)
    automaton = combine(automaton, compilePattern(notBelow(plainDecimal(low, place)), place), place);
  if (high !== Infinity)
    automaton = combine(automaton, compilePattern(notAbove(plainDecimal(high, place)), place), place);
  return automaton;
}

function wholeDigits(low: number, high: number, place: string): number {
  const digits = (value: number): number => plainDecimal(Math.floor(value), place).length;
  return high === Infinity ? Math.max(FREE_DIGITS, digits(low) + 1) : digits(high);
}

/** Decimals not below one: of a larger integer, or of the same and a fraction not below. */
function notBelow(decimal: string): Pattern {
  const [whole = "0", fraction = ""] = decimal.split(".");
  const end = 10n ** BigInt(whole.length + FREE_DIGITS) - 1n;
  const larger = sequence(integersBetween(BigInt(whole) + 1n, end), optional(sequence(text("."), anyDigits)));
  const ways = [larger];
  if (!/[1-9]/.test(fraction)) ways.push(sequence(text(whole), optional(sequence(text("."), anyDigits))));
  else ways.push(sequence(text(`${whole}.`), fractionFrom(fraction, 1)));
  return choice(...ways);
}

/** Decimals not above one: of a smaller integer, or of the same and a fraction not above. */
function notAbove(decimal: string): Pattern {
  const [whole = "0", fraction = ""] = decimal.split(".");
  const ways: Pattern[] = [text(whole), sequence(text(`${whole}.`), fractionFrom(fraction, -1))];
  if (BigInt(whole) > 0n)
    ways.push(sequence(integersBetween(0n, BigInt(whole) - 1n), optional(sequence(text("."), anyDigits))));
  return choice(...ways);
}

/** Digits after a point that are the bound's, or leave them upwards (1) or downwards (-1), at whatever digit. */
function fractionFrom(bound: string, direction: 1 | -1): Pattern {
  const ways: Pattern[] = [];
  for (let i = 0; i < bound.length; i++) {
    const at = Number(bound[i]);
    const prefix = text(bound.slice(0, i));
    if (direction === 1 && at < 9) ways.push(sequence(prefix, digit(at + 1, 9), anyDigits));
    if (direction === -1) {
      if (at > 0) ways.push(sequence(prefix, digit(0, at - 1), anyDigits));
      if (i > 0) ways.push(prefix);
    }
  }
  ways.push(
    direction === 1 ? sequence(text(bound), anyDigits) : sequence(text(bound), repeat(digit(0, 0), 0, Infinity)),
  );
  return choice(...ways);
}

/** A double's shortest decimal, without an exponent. */
function plainDecimal(value: number, place: string): string {
  const [mantissa = "", exponent = "0"] = String(Math.abs(value)).split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const shift = Number(exponent);
  const digits = whole + fraction;
  const point = whole.length + shift;
  const padded =
    point <= 0
      ? `0.${"0".repeat(-point)}${digits}`
      : point >= digits.length
        ? digits + "0".repeat(point - digits.length)
        : `${digits.slice(0, point)}.${digits.slice(point)}`;
  if (padded.length > MAX_BOUND_DIGITS)
    throw grammarError("the bound has too many digits", place, {
      expected: `at most ${MAX_BOUND_DIGITS}`,
      got: String(value),
    });
  return (value < 0 ? "-" : "") + padded;
}

function digit(from: number, to: number): Pattern {
  return { kind: "characters", set: codePoints([[0x30 + from, 0x30 + to]]) };
}

function text(characters: string): Pattern {
  return sequence(
    ...Array.from(characters, (character): Pattern => {
      const codePoint = character.codePointAt(0)!;
      return { kind: "characters", set: codePoints([[codePoint, codePoint]]) };
    }),
  );
}

function sequence(...parts: readonly Pattern[]): Pattern {
  return { kind: "sequence", parts };
}

function choice(...of: readonly Pattern[]): Pattern {
  return { kind: "choice", of };
}

function repeat(item: Pattern, min: number, max: number): Pattern {
  return { kind: "repeat", item, min, max };
}

function optional(item: Pattern): Pattern {
  return repeat(item, 0, 1);
}

const anyDigits: Pattern = repeat(digit(0, 9), 0, Infinity);
