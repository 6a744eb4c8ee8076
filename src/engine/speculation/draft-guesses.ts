import { Acceptance, bestCount } from "./acceptance.ts";
import type { DraftSequence } from "./draft-model.ts";
import type { RowCosts } from "./row-costs.ts";

/** Where a draft does not pay, it is asked again after this many steps. */
const STEPS_BETWEEN_TRIALS = 32;
const PACE_WEIGHT = 0.2;

/** Guesses by a smaller model. */
export class DraftGuesses {
  readonly #tokens: ArrayLike<number>;
  readonly #draft: DraftSequence;
  readonly #vocabularySize: number;
  readonly #acceptance = new Acceptance(0.7, 1);
  /** Of the draft, for one token. */
  #ms: number | undefined;
  #guess: { readonly at: number; readonly tokens: ArrayLike<number> } | undefined;
  #stepsWithout = 0;

  constructor(tokens: ArrayLike<number>, draft: DraftSequence, vocabularySize: number) {
    this.#tokens = tokens;
    this.#draft = draft;
    this.#vocabularySize = vocabularySize;
  }

  async guess(most: number, answers: number, costs: RowCosts): Promise<ArrayLike<number>> {
    this.#learn();
    const draftMs = this.#ms;
    const ms = (guesses: number): number => (costs.ms(answers + guesses) ?? 1) + guesses * answers * (draftMs ?? 0);
    let count = draftMs === undefined ? Math.min(2, most) : bestCount(most, answers, this.#acceptance, ms);
    if (count === 0 && ++this.#stepsWithout % STEPS_BETWEEN_TRIALS === 0) count = 1;
    if (count === 0) return [];
    const started = performance.now();
    const proposed = Array.from(await this.#draft.propose(this.#tokens, count)).slice(0, count);
    // A draft may be anybody's; a step takes only tokens.
    const wrong = proposed.findIndex((id) => !Number.isInteger(id) || id < 0 || id >= this.#vocabularySize);
    const tokens = wrong < 0 ? proposed : proposed.slice(0, wrong);
    const pace = (performance.now() - started) / count;
    // The first proposal reads the prompt.
    if (this.#guess) this.#ms = (draftMs ?? pace) + PACE_WEIGHT * (pace - (draftMs ?? pace));
    this.#guess = { at: this.#tokens.length, tokens };
    return tokens;
  }

  close(): void {
    this.#draft.close();
  }

  #learn(): void {
    if (!this.#guess) return;
    const { at, tokens } = this.#guess;
    for (let i = 0; i < tokens.length && at + i < this.#tokens.length; i++) {
      const right = tokens[i] === this.#tokens[at + i];
      this.#acceptance.note(right);
      if (!right) break;
    }
    this.#guess = { at, tokens: [] };
  }
}
