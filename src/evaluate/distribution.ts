import { exp64, log64 } from "../arithmetic/functions64.ts";

/** Likeliest tokens that are compared as sets. */
const TOP_WIDTH = 5;

/** One row of logits as probabilities; f64, natural logarithms. */
export class Distribution {
  /** exp(logit − max), [vocabulary]. */
  readonly weights: Float64Array;
  logits: Float32Array = new Float32Array(0);
  /** The log of the sum of exp(logit): `logit − logSum` is a log-probability. Not finite where a logit is not. */
  logSum = 0;
  /** The sum of `weights`. */
  sum = 0;
  /** The likeliest tokens, best first; of equals the first. */
  readonly top: Int32Array;

  constructor(vocabularySize: number) {
    this.weights = new Float64Array(vocabularySize);
    this.top = new Int32Array(Math.min(TOP_WIDTH, vocabularySize));
  }

  /** Takes a row; it is read until the next one is taken. */
  take(logits: Float32Array): void {
    const { weights, top } = this;
    this.logits = logits;
    findTop(logits, top);
    const max = logits[top[0]!]!;
    let sum = 0;
    for (let i = 0; i < logits.length; i++) sum += weights[i] = exp64(logits[i]! - max);
    this.sum = sum;
    this.logSum = max + log64(sum);
  }

  negativeLogProbability(id: number): number {
    return this.logSum - this.logits[id]!;
  }

  /** Kullback-Leibler divergence of `other` from this, over the whole vocabulary: Σ p · (ln p − ln q), nats. */
  divergence(other: Distribution): number {
    const { weights, logits } = this;
    const others = other.logits;
    let total = 0;
    for (let i = 0; i < logits.length; i++) total += weights[i]! * (logits[i]! - others[i]!);
    // Rounding may leave equal distributions a little below 0.
    return Math.max(0, total / this.sum - this.logSum + other.logSum);
  }

  /** The share of this one's likeliest tokens that are among the other's, 0 to 1. */
  topShared(other: Distribution): number {
    return this.top.reduce((count, id) => count + Number(other.top.includes(id)), 0) / this.top.length;
  }
}

/** Fills `top` with the ids of the largest, largest first. */
function findTop(values: Float32Array, top: Int32Array): void {
  let found = 0;
  let least = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (found === top.length && !(value > least)) continue;
    let at = found < top.length ? found++ : found - 1;
    for (; at > 0 && value > values[top[at - 1]!]!; at--) top[at] = top[at - 1]!;
    top[at] = i;
    least = values[top[found - 1]!]!;
  }
}
