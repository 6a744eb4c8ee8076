const MEMORY = 0.95;

/** How likely a guessed token is right, where the one before it was; old evidence fades. */
export class Acceptance {
  #right: number;
  #tried: number;

  constructor(right: number, tried: number) {
    this.#right = right;
    this.#tried = tried;
  }

  get probability(): number {
    return this.#right / this.#tried;
  }

  note(right: boolean): void {
    this.#right = this.#right * MEMORY + (right ? 1 : 0);
    this.#tried = this.#tried * MEMORY + 1;
  }

  /** Tokens expected of `count` guesses. */
  expected(count: number): number {
    const p = this.probability;
    let sum = 0;
    for (let j = 1, all = p; j <= count; j++, all *= p) sum += all;
    return sum;
  }
}

/** A step may take so much longer than it should, and guessing must still pay. */
const LEAST_GAIN = 1.05;

/**
 * How many tokens to guess, `most` at most, so that the step gives most tokens a millisecond: it brings `answers` on,
 * `ms(guesses)` is what it takes. 0 where guessing does not pay.
 */
export function bestCount(
  most: number,
  answers: number,
  acceptance: Acceptance,
  ms: (guesses: number) => number,
): number {
  let best = 0;
  let bestRate = (answers / ms(0)) * LEAST_GAIN;
  for (let count = 1; count <= most; count++) {
    const rate = (answers + acceptance.expected(count)) / ms(count);
    if (rate > bestRate) [best, bestRate] = [count, rate];
  }
  return best;
}
