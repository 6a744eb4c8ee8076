import { Acceptance, bestCount } from "./acceptance.ts";
import type { RowCosts } from "./row-costs.ts";

/** Ids are below 2^22, so that two fit in a number exactly. */
const PAIR = 2 ** 22;
/** Earlier places of the last two tokens that are compared. */
const CANDIDATES = 16;
const LONGEST_MATCH = 16;
/** Lengths from which a match is told apart from shorter ones, and how likely it goes on while nothing is known. */
const CLASSES = [
  { least: 2, likely: 0.1 },
  { least: 3, likely: 0.3 },
  { least: 5, likely: 0.5 },
  { least: 9, likely: 0.7 },
] as const;
/** Tokens that this first opinion counts as. */
const FIRST_OPINION = 2;

/**
 * Guesses that a text goes on as it did the last time its last tokens stood in it. Guesses are checked against what came
 * whether or not they were taken, so that it costs nothing to learn that a text does not repeat itself.
 */
export class PromptLookup {
  readonly #tokens: ArrayLike<number>;
  /** Where the text was so far; pairs end before it. */
  #seen = 1;
  /** After the last place of each pair. */
  readonly #last = new Map<number, number>();
  /** For each place, the one before it of the same pair; 0: none. */
  readonly #previous: number[] = [0, 0];
  readonly #acceptances = CLASSES.map(({ likely }) => new Acceptance(likely * FIRST_OPINION, FIRST_OPINION));
  #guess: { readonly at: number; readonly from: number; readonly acceptance: Acceptance } | undefined;

  /** `tokens` is the text, which others append to. */
  constructor(tokens: ArrayLike<number>) {
    this.#tokens = tokens;
  }

  /** The guess for a step that brings `answers` on: `most` tokens at most, none where they would not pay. */
  guess(most: number, answers: number, costs: RowCosts): number[] {
    this.#learn();
    const match = this.#match();
    if (!match) {
      this.#guess = undefined;
      return [];
    }
    const acceptance = this.#acceptances[CLASSES.findLastIndex(({ least }) => match.length >= least)]!;
    const { length } = this.#tokens;
    this.#guess = { at: length, from: match.from, acceptance };
    const ms = (guesses: number): number => costs.ms(answers + guesses) ?? 1 + guesses;
    const count = bestCount(most, answers, acceptance, ms);
    // A match that reaches the end goes round: what follows it is what it guesses itself.
    return Array.from({ length: count }, (_, i) => this.#tokens[match.from + (i % (length - match.from))]!);
  }

  #learn(): void {
    const tokens = this.#tokens;
    for (let at = this.#guess?.at ?? tokens.length, i = 0; at + i < tokens.length; i++) {
      const { from, acceptance } = this.#guess!;
      const right = tokens[from + i] === tokens[at + i];
      acceptance.note(right);
      if (!right) break;
    }
    // The pair at the very end is added when something has followed it.
    for (; this.#seen < tokens.length - 1; this.#seen++) {
      const key = tokens[this.#seen - 1]! * PAIR + tokens[this.#seen]!;
      const place = this.#seen + 1;
      this.#previous[place] = this.#last.get(key) ?? 0;
      this.#last.set(key, place);
    }
  }

  /** The longest earlier match of the text's end, the latest of equals: where it went on. */
  #match(): { from: number; length: number } | undefined {
    const tokens = this.#tokens;
    const end = tokens.length;
    if (end < 3) return undefined;
    let place = this.#last.get(tokens[end - 2]! * PAIR + tokens[end - 1]!) ?? 0;
    let best: { from: number; length: number } | undefined;
    for (let tried = 0; place > 0 && tried < CANDIDATES; tried++, place = this.#previous[place]!) {
      let length = 2;
      while (length < LONGEST_MATCH && length < place && tokens[place - 1 - length] === tokens[end - 1 - length])
        length++;
      if (!best || length > best.length) best = { from: place, length };
      if (length === LONGEST_MATCH) break;
    }
    return best;
  }
}
