/**
 * Two tensors value by value. Root mean squares, the largest difference and the cosine are of the values that are finite in
 * both; differences are relative to the root mean square of A's values.
 */
export interface ValueDifference {
  /** Values that are not the same, and of how many. */
  readonly differing: number;
  readonly values: number;
  /** Values that are NaN or infinite, on each side. */
  readonly nonFinite: { readonly a: number; readonly b: number };
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
  #nonFiniteOfA = 0;
  #nonFiniteOfB = 0;
  #finiteInBoth = 0;

  add(a: Float32Array, b: Float32Array): void {
    let [squaresOfA, squaresOfB, squaresOfDifference, product, finite] = [0, 0, 0, 0, 0];
    for (let i = 0; i < a.length; i++) {
      const x = a[i]!;
      const y = b[i]!;
      const isDifferent = x !== y && !(Number.isNaN(x) && Number.isNaN(y));
      if (isDifferent) this.#differing++;
      const [finiteX, finiteY] = [Number.isFinite(x), Number.isFinite(y)];
      if (!finiteX) this.#nonFiniteOfA++;
      if (!finiteY) this.#nonFiniteOfB++;
      if (!finiteX || !finiteY) continue;
      finite++;
      squaresOfA += x * x;
      squaresOfB += y * y;
      product += x * y;
      if (!isDifferent) continue;
      const difference = Math.abs(x - y);
      squaresOfDifference += difference * difference;
      if (difference > this.#max) this.#max = difference;
    }
    this.#values += a.length;
    this.#finiteInBoth += finite;
    this.#squaresOfA += squaresOfA;
    this.#squaresOfB += squaresOfB;
    this.#squaresOfDifference += squaresOfDifference;
    this.#product += product;
  }

  get result(): ValueDifference {
    const [values, differing] = [this.#values, this.#differing];
    const finite = this.#finiteInBoth;
    const size = Math.sqrt(this.#squaresOfA / finite);
    const relative = (difference: number): number => (difference === 0 ? 0 : difference / size);
    const lengths = Math.sqrt(this.#squaresOfA) * Math.sqrt(this.#squaresOfB);
    return {
      differing,
      values,
      nonFinite: { a: this.#nonFiniteOfA, b: this.#nonFiniteOfB },
      rms: relative(Math.sqrt(this.#squaresOfDifference / Math.max(1, finite))),
      max: relative(this.#max),
      cosine: lengths === 0 ? undefined : differing === 0 ? 1 : Math.min(1, this.#product / lengths),
    };
  }
}
