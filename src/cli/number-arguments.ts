import { InvalidArgumentError } from "commander";

/** Numbers as people write them in a shell; ranges are checked where the option is used. */
const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

export function numberArgument(text: string): number {
  const value = NUMBER.test(text) ? Number(text) : Number.NaN;
  if (Number.isFinite(value)) return value;
  throw new InvalidArgumentError("Not a number.");
}

export function integerFrom(smallest: number, largest: number = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (Number.isSafeInteger(value) && value >= smallest && value <= largest) return value;
    const end = largest < Number.MAX_SAFE_INTEGER ? ` to ${largest}` : "";
    throw new InvalidArgumentError(`Not an integer from ${smallest}${end}.`);
  };
}

/** `--stop A --stop B`. */
export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

/** `--logit-bias 42=-100`, any number of times. */
export function collectBias(text: string, before: ReadonlyMap<number, number> = new Map()): Map<number, number> {
  const [, id, bias] = /^(\d+)=(.+)$/.exec(text) ?? [];
  if (id === undefined || bias === undefined) throw new InvalidArgumentError("Expected TOKEN_ID=BIAS.");
  return new Map(before).set(Number(id), numberArgument(bias));
}
