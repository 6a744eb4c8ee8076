import { HalfbyteError } from "../../errors.ts";
import type { CheckedSamplingOptions } from "./options.ts";

/** The tokens of a sequence so far: the prompt, then the answer. */
export interface TokenHistory {
  readonly tokens: ArrayLike<number>;
  /** How many of `tokens` are the prompt. */
  readonly promptLength: number;
}

/** Logit bias, then repetition, frequency and presence penalties. Each changed logit is rounded to f32 once. */
export class LogitAdjuster {
  readonly #options: CheckedSamplingOptions;
  readonly #penalised: boolean;
  #adjusted: Float32Array = new Float32Array(0);

  constructor(options: CheckedSamplingOptions) {
    this.#options = options;
    this.#penalised =
      options.repetitionPenalty !== 1 || options.frequencyPenalty !== 0 || options.presencePenalty !== 0;
  }

  /**
   * Returns the adjusted logits in a buffer that the next call overwrites, or `logits` itself if nothing changes.
   * Throws ERR_ARGUMENT for an id outside the vocabulary, ERR_NON_FINITE where an adjusted logit leaves f32.
   */
  apply(logits: Float32Array, history: TokenHistory): Float32Array {
    const counts = this.#penalised ? this.#countTokens(history, logits.length) : new Map<number, number>();
    if (counts.size === 0 && this.#options.logitBias.size === 0) return logits;
    if (this.#adjusted.length !== logits.length) this.#adjusted = new Float32Array(logits.length);
    const adjusted = this.#adjusted;
    adjusted.set(logits);
    const { logitBias, repetitionPenalty, frequencyPenalty, presencePenalty } = this.#options;
    for (const [id, bias] of logitBias) {
      checkId(id, logits.length, `logitBias[${id}]`);
      if (!counts.has(id)) this.#store(id, adjusted[id]! + bias);
    }
    for (const [id, generated] of counts) {
      const biased = adjusted[id]! + (logitBias.get(id) ?? 0);
      const repeated = biased > 0 ? biased / repetitionPenalty : biased * repetitionPenalty;
      this.#store(id, repeated - generated * frequencyPenalty - (generated > 0 ? presencePenalty : 0));
    }
    return adjusted;
  }

  #store(id: number, logit: number): void {
    this.#adjusted[id] = logit;
    if (!Number.isFinite(this.#adjusted[id])) {
      throw new HalfbyteError("ERR_NON_FINITE", "penalties or bias make a logit overflow", {
        place: `logits[${id}]`,
        expected: "a finite number",
        got: String(logit),
      });
    }
  }

  /** Every token in the window, with the number of times the answer, not the prompt, has it. */
  #countTokens({ tokens, promptLength }: TokenHistory, vocabularySize: number): Map<number, number> {
    const counts = new Map<number, number>();
    for (let i = Math.max(0, tokens.length - this.#options.penaltyWindow); i < tokens.length; i++) {
      const id = tokens[i]!;
      checkId(id, vocabularySize, `history.tokens[${i}]`);
      counts.set(id, (counts.get(id) ?? 0) + (i >= promptLength ? 1 : 0));
    }
    return counts;
  }
}

function checkId(id: number, vocabularySize: number, place: string): void {
  if (Number.isInteger(id) && id >= 0 && id < vocabularySize) return;
  throw new HalfbyteError("ERR_ARGUMENT", "not a token of this vocabulary", {
    place,
    expected: `an id from 0 to ${vocabularySize - 1}`,
    got: String(id),
  });
}
