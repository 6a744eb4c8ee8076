/** Two tensors value by value; differences are relative to the root mean square of A's values. */
export interface ValueDifference {
  /** Values that are not the same, and of how many. */
  readonly differing: number;
  readonly values: number;
  /** Root mean square of the difference. */
  readonly rms: number;
  readonly max: number;
  /** Of the angle between the two as vectors; undefined where one of them is all 0. */
  readonly cosine: number | undefined;
}

/** Adds up in f64 what rows of two tensors have in common. */
export class ValueComparison {
  #values = 0;
  #differing = 0;
  #squaresOfA = 0;
  #squaresOfB = 0;
  #squaresOfDifference = 0;
  #product = 0;
  #max = 0;

  add(a: Float32Array, b: Float32Array): void {
    let [squaresOfA, squaresOfB, squaresOfDifference, product] = [0, 0, 0, 0];
    for (let i = 0; i < a.length; i++) {
      const x = a[i]!;
      const y = b[i]!;
      squaresOfA += x * x;
      squaresOfB += y * y;
      product += x * y;
      if (x === y || (Number.isNaN(x) && Number.isNaN(y))) continue;
      this.#differing++;
      const difference = Math.abs(x - y);
      squaresOfDifference += difference * difference;
      // Not Math.max: a difference that is no number counts.
      if (!(difference <= this.#max)) this.#max = difference;
    }
    this.#values += a.length;
    this.#squaresOfA += squaresOfA;
    this.#squaresOfB += squaresOfB;
    this.#squaresOfDifference += squaresOfDifference;
    this.#product += product;
  }

  get result(): ValueDifference {
    const [values, differing] = [this.#values, this.#differing];
    const size = Math.sqrt(this.#squaresOfA / values);
    const relative = (difference: number): number => (differing === 0 ? 0 : difference / size);
    const lengths = Math.sqrt(this.#squaresOfA) * Math.sqrt(this.#squaresOfB);
    return {
      differing,
      values,
      rms: relative(Math.sqrt(this.#squaresOfDifference / values)),
      max: relative(this.#max),
      cosine: lengths === 0 ? undefined : differing === 0 ? 1 : Math.min(1, this.#product / lengths),
    };
  }
}
