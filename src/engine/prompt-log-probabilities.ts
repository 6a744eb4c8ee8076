import type { Tokenizer } from "../text/tokenizer.ts";
import type { GeneratedToken } from "./generation-result.ts";
import { logSumExp, topLogProbabilities } from "./sampling/log-probabilities.ts";

/** The prompt's tokens with their log-probabilities, each after those before it; the first has none. */
export class PromptLogProbabilities {
  readonly tokens: GeneratedToken[];
  readonly #tokenizer: Tokenizer;
  readonly #count: number;

  /** `count`: how many of the likeliest tokens to report in each place. */
  constructor(tokenizer: Tokenizer, prompt: Int32Array, count: number) {
    this.#tokenizer = tokenizer;
    this.#count = count;
    this.tokens = Array.from(prompt, (id) => ({ id, text: tokenizer.decode([id]) }));
  }

  /** `logits`, f32 [vocabulary], say what was to come at `position`. */
  add(position: number, logits: Float32Array): void {
    const [likeliest] = topLogProbabilities(logits, 0, 1);
    const normaliser = logSumExp(logits, likeliest!.logprob);
    const token = this.tokens[position]!;
    this.tokens[position] = {
      ...token,
      logprob: logits[token.id]! - normaliser,
      top: topLogProbabilities(logits, normaliser, this.#count).map((entry) => ({
        ...entry,
        text: this.#tokenizer.decode([entry.id]),
      })),
    };
  }
}
