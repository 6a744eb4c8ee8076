/** What a further row costs before anything is known, as part of a step of one row. */
const FIRST_GUESS = 0.25;
const BASE_WEIGHT = 0.2;
const RATIO_WEIGHT = 0.1;
/** Past this the machine computes as fast as it can, and a row costs what a row costs. */
const MOST_ROWS = 64;

/**
 * Milliseconds of steps by their rows, as measured. Kept as ratios to a step of one row, so that a machine that becomes
 * busy, or a context that grows, does not make larger steps look better or worse than they are.
 */
export class RowCosts {
  #base: number | undefined;
  readonly #ratios: number[] = Array.from({ length: MOST_ROWS + 1 }, (_, rows) => 1 + FIRST_GUESS * (rows - 1));

  /** A step of nothing but answers and guesses took so long. */
  note(rows: number, ms: number): void {
    if (rows > MOST_ROWS) return;
    const ratio = this.#ratios[rows]!;
    const base = ms / ratio;
    this.#base ??= base;
    if (rows > 1) this.#ratios[rows] = ratio + RATIO_WEIGHT * (Math.min(rows, ms / this.#base) - ratio);
    this.#base += BASE_WEIGHT * (base - this.#base);
  }

  /** Undefined before the first step. */
  ms(rows: number): number | undefined {
    if (this.#base === undefined) return undefined;
    const whole = Math.min(rows, MOST_ROWS);
    return this.#base * this.#ratios[whole]! * (rows / whole);
  }
}
