import type { TokenConstraint } from "../grammar/token-constraint.ts";
import type { SamplingOptions } from "./sampling/options.ts";
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
  /** Says which tokens may come next. The generation moves it along: give each one of its own, by `clone`. */
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
