import { exp64, log64 } from "../arithmetic/functions64.ts";

/** The log of the sum of exp(logit), so that `logit − logSum` is a log-probability. f64, natural logarithm. */
export function logSum(logits: Float32Array): number {
  let max = Number.NEGATIVE_INFINITY;
  for (const logit of logits) if (logit > max) max = logit;
  let sum = 0;
  for (const logit of logits) sum += exp64(logit - max);
  return max + log64(sum);
}

/** The first of the largest. */
export function argmax(values: Float32Array): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i]! > values[best]!) best = i;
  return best;
}
