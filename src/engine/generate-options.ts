import { HalfbyteError } from "../errors.ts";
import type { CompiledConstraint, TokenConstraint } from "../grammar/token-constraint.ts";
import type { AnsweringModel } from "./answer.ts";
import { type CheckedSamplingOptions, checkSamplingOptions, type SamplingOptions } from "./sampling/options.ts";
import type { DraftModel } from "./speculation/draft-model.ts";

export interface GenerateOptions extends SamplingOptions {
  /**
   * Tokens to generate at most; default: as many as the context has room for. 0 only with `promptLogprobs`: the prompt is
   * read and nothing is generated.
   */
  readonly maxTokens?: number;
  /** Texts that end the answer; they are not part of it. */
  readonly stop?: string | readonly string[];
  /** Go on past the model's end tokens. */
  readonly ignoreEnd?: boolean;
  /** The answer is a text of its own and not the prompt's next words: SentencePiece's leading space goes away. */
  readonly startsText?: boolean;
  /** Stops the generation within one step; iterating then throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** Says which tokens may come next. The generation moves it along: give each one of its own, by `start` or `clone`. */
  readonly constraint?: TokenConstraint;
  /** Report log-probabilities of the prompt's tokens, and of this many of the likeliest in each place, 0 to 20. */
  readonly promptLogprobs?: number;
  /** Whose generation it is: users take turns, however many generations each has. Default: all are one user's. */
  readonly user?: string;
  /** Ends the generation with ERR_DEADLINE when it has not ended by then, in queue or in work; milliseconds. */
  readonly timeoutMs?: number;
  /** False: neither reads nor leaves anything in the cache that generations share. Default true. */
  readonly cachePrompt?: boolean;
  /** Guess tokens ahead and check them together. It changes no bit of the answer, only its speed. */
  readonly speculation?: SpeculationOptions | false;
}

export interface SpeculationOptions {
  /** A smaller model with the same vocabulary, which guesses; default: text that repeats what came before. */
  readonly draft?: DraftModel;
  /** Tokens guessed at once, at most. */
  readonly maxTokens?: number;
}

/** Every option settled and checked. */
export interface CheckedOptions {
  readonly sampling: CheckedSamplingOptions;
  /** Within what the context has room for. */
  readonly maxTokens: number;
  readonly stop: readonly string[];
  readonly ignoreEnd: boolean;
  readonly startsText: boolean;
  readonly signal: AbortSignal | undefined;
  readonly constraint: TokenConstraint | undefined;
  readonly promptLogprobs: number | undefined;
  readonly user: string;
  readonly timeoutMs: number | undefined;
  readonly cachePrompt: boolean;
  readonly speculation: SpeculationOptions | undefined;
}

/** Throws `context_length_exceeded` when the prompt leaves no room for a token, ERR_ARGUMENT for bad options. */
export function checkGenerateOptions(
  { contextLength, tokenizer }: AnsweringModel,
  prompt: Int32Array,
  options: GenerateOptions,
): CheckedOptions {
  const { maxTokens = Number.MAX_SAFE_INTEGER, promptLogprobs, timeoutMs, user = "" } = options;
  const least = promptLogprobs === undefined ? 1 : 0;
  check("prompt", prompt.length > 0, "at least one token", "none");
  check("maxTokens", Number.isSafeInteger(maxTokens) && maxTokens >= least, `an integer from ${least}`, maxTokens);
  const room = contextLength - prompt.length;
  if (room < Math.min(1, maxTokens))
    throw new HalfbyteError(
      "context_length_exceeded",
      `the prompt has ${prompt.length} tokens and the context holds ${contextLength}`,
      { place: "prompt", remedy: "shorten the prompt: at least one token must be left for the answer" },
    );
  check("timeoutMs", timeoutMs === undefined || timeoutMs >= 0, "milliseconds from 0", timeoutMs);
  check("user", typeof user === "string", "a string", typeof user);
  // Its range is that of `logprobs`.
  check("promptLogprobs", isLogprobs(promptLogprobs), "an integer from 0 to 20", promptLogprobs);
  const sampling = checkSamplingOptions({ ...options, temperature: options.temperature ?? 0 });
  for (const id of sampling.logitBias.keys())
    check("logitBias", id < tokenizer.vocabularySize, `ids below ${tokenizer.vocabularySize}`, id);
  const { ignoreEnd = false, startsText = false, cachePrompt = true, speculation = {} } = options;
  const most = speculation === false ? 0 : (speculation.maxTokens ?? 1);
  check("speculation.maxTokens", Number.isSafeInteger(most) && most >= 0, "an integer from 0", most);
  const draft = speculation === false ? undefined : speculation.draft;
  const { vocabularySize } = tokenizer;
  if (draft)
    check(
      "speculation.draft",
      draft.tokenizer.vocabularySize === vocabularySize,
      `${vocabularySize} tokens`,
      draft.tokenizer.vocabularySize,
    );
  if (options.constraint) takeConstraint(options.constraint);
  return {
    sampling,
    maxTokens: Math.min(maxTokens, room),
    stop: typeof options.stop === "string" ? [options.stop] : (options.stop ?? []),
    ignoreEnd,
    startsText,
    signal: options.signal,
    constraint: options.constraint,
    promptLogprobs,
    user,
    timeoutMs,
    cachePrompt,
    speculation: speculation === false ? undefined : speculation,
  };
}

/** Constraints that a generation moves along already. */
const taken = new WeakSet<object>();

function takeConstraint(constraint: TokenConstraint | CompiledConstraint): void {
  const refuse = (problem: string, remedy: string): never => {
    throw new HalfbyteError("ERR_ARGUMENT", problem, { place: "constraint", remedy });
  };
  if (typeof (constraint as TokenConstraint).accept !== "function")
    refuse("it was not started", "give what its start() returns, a new one for each generation");
  if (taken.has(constraint))
    refuse("another generation was given it", "call start() for each generation, or clone() to go on from where it is");
  taken.add(constraint);
}

function isLogprobs(count: number | undefined): boolean {
  try {
    checkSamplingOptions({ logprobs: count });
    return true;
  } catch {
    return false;
  }
}

function check(place: string, valid: boolean, expected: string, got: unknown): void {
  if (!valid) throw new HalfbyteError("ERR_ARGUMENT", "bad option", { place, expected, got: String(got) });
}
