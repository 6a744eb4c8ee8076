import { HalfbyteError } from "../../errors.ts";
import { randomSeed } from "./generator.ts";

/** How the next token is chosen; docs/sampling.md has the formulas and the order. */
export interface SamplingOptions {
  /** 0 takes the most likely token; above 0 the logits are divided by it. Default 1. */
  readonly temperature?: number | undefined;
  /** Keep this many of the most likely tokens; 0, the default, keeps all. */
  readonly topK?: number | undefined;
  /** Keep the most likely tokens whose probabilities reach this sum, 0 to 1. Default 1, all. */
  readonly topP?: number | undefined;
  /** Keep tokens at least this fraction as likely as the most likely one, 0 to 1. Default 0, all. */
  readonly minP?: number | undefined;
  /** Keep the tokens of most typical surprise whose probabilities reach this sum, 0 to 1. Default 1, all. */
  readonly typicalP?: number | undefined;
  /** Divides positive logits, and multiplies negative ones, of tokens in prompt and answer; above 0. Default 1, none. */
  readonly repetitionPenalty?: number | undefined;
  /** Taken from a token's logit for each time the answer has it, −2 to 2. Default 0. */
  readonly frequencyPenalty?: number | undefined;
  /** Taken from a token's logit once if the answer has it, −2 to 2. Default 0. */
  readonly presencePenalty?: number | undefined;
  /** Penalties look at this many of the last tokens; default all. */
  readonly penaltyWindow?: number | undefined;
  /** Added to the logits of these token ids, −100 to 100. */
  readonly logitBias?: ReadonlyMap<number, number> | Readonly<Record<number, number>> | undefined;
  /** 0 to 2^53 − 1; the same seed gives the same tokens. Default random, to be read from `Sampler.seed`. */
  readonly seed?: number | undefined;
  /** Report the log-probability of the chosen token and of this many of the most likely, 0 to 20. Default none at all. */
  readonly logprobs?: number | undefined;
}

/** Every option settled and checked. */
export interface CheckedSamplingOptions {
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly typicalP: number;
  readonly repetitionPenalty: number;
  readonly frequencyPenalty: number;
  readonly presencePenalty: number;
  readonly penaltyWindow: number;
  readonly logitBias: ReadonlyMap<number, number>;
  readonly seed: number;
  readonly logprobs: number | undefined;
}

/** The same limit as OpenAI's API; the list is found by insertion, which suits short lists. */
const MAX_LOGPROBS = 20;

/** Fills in the defaults; throws ERR_ARGUMENT with the option's name for a value out of its range. */
export function checkSamplingOptions(options: SamplingOptions = {}): CheckedSamplingOptions {
  const number = (
    name: keyof SamplingOptions,
    fallback: number,
    expected: string,
    valid: (x: number) => boolean,
  ): number => {
    const value: unknown = options[name] ?? fallback;
    if (typeof value === "number" && valid(value)) return value;
    throw invalid(name, expected, value);
  };
  const fraction = (x: number): boolean => x >= 0 && x <= 1;
  const penalty = (x: number): boolean => x >= -2 && x <= 2;
  const count = (x: number): boolean => Number.isSafeInteger(x) && x >= 0;
  return {
    temperature: number("temperature", 1, "a finite number from 0", (x) => x >= 0 && x < Infinity),
    topK: number("topK", 0, "an integer from 0", count),
    topP: number("topP", 1, "a number from 0 to 1", fraction),
    minP: number("minP", 0, "a number from 0 to 1", fraction),
    typicalP: number("typicalP", 1, "a number from 0 to 1", fraction),
    repetitionPenalty: number("repetitionPenalty", 1, "a finite number above 0", (x) => x > 0 && x < Infinity),
    frequencyPenalty: number("frequencyPenalty", 0, "a number from -2 to 2", penalty),
    presencePenalty: number("presencePenalty", 0, "a number from -2 to 2", penalty),
    penaltyWindow: number("penaltyWindow", Number.MAX_SAFE_INTEGER, "an integer from 1", (x) => count(x) && x > 0),
    logitBias: checkLogitBias(options.logitBias),
    seed: isGiven(options.seed) ? number("seed", 0, "an integer from 0 to 2^53 - 1", count) : randomSeed(),
    logprobs: isGiven(options.logprobs)
      ? number("logprobs", 0, `an integer from 0 to ${MAX_LOGPROBS}`, (x) => count(x) && x <= MAX_LOGPROBS)
      : undefined,
  };
}

/** JSON says null where TypeScript says undefined. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function checkLogitBias(bias: SamplingOptions["logitBias"]): ReadonlyMap<number, number> {
  if (!isGiven(bias)) return new Map();
  if (typeof bias !== "object" || Array.isArray(bias)) {
    throw invalid("logitBias", "a Map or an object from token id to number", bias);
  }
  const checked = new Map<number, number>();
  const entries: Iterable<[unknown, unknown]> = bias instanceof Map ? bias : Object.entries(bias);
  for (const [key, value] of entries) {
    const id = typeof key === "string" && /^\d+$/.test(key) ? Number(key) : key;
    if (typeof id !== "number" || !Number.isSafeInteger(id) || id < 0) {
      throw invalid("logitBias", "token ids, integers from 0", key);
    }
    if (typeof value !== "number" || !(value >= -100 && value <= 100)) {
      throw invalid(`logitBias[${id}]`, "a number from -100 to 100", value);
    }
    checked.set(id, value);
  }
  return checked;
}

function invalid(place: string, expected: string, got: unknown): HalfbyteError {
  const shown = (typeof got === "string" ? JSON.stringify(got) : String(got)).slice(0, 80);
  return new HalfbyteError("ERR_ARGUMENT", "not a valid sampling option", { place, expected, got: shown });
}
