import { exp64, log64 } from "../../arithmetic/functions64.ts";

export interface TokenLogProbability {
  readonly id: number;
  /** Natural logarithm of the probability. */
  readonly logprob: number;
}

/**
 * ln Σ e^logit, so that a token's log-probability is its logit less this; `highest` is the highest logit. In f64, ids
 * ascending.
 */
export function logSumExp(logits: Float32Array, highest: number): number {
  let sum = 0;
  for (let id = 0; id < logits.length; id++) sum += exp64(logits[id]! - highest);
  return highest + log64(sum);
}

/** The `count` most likely tokens, best first; of equals, the lower ids first. */
export function topLogProbabilities(logits: Float32Array, normaliser: number, count: number): TokenLogProbability[] {
  const ids: number[] = [];
  for (let id = 0; id < logits.length && count > 0; id++) {
    const logit = logits[id]!;
    if (ids.length === count) {
      if (!(logit > logits[ids[count - 1]!]!)) continue;
      ids.pop();
    }
    let at = ids.length;
    while (at > 0 && logits[ids[at - 1]!]! < logit) at--;
    ids.splice(at, 0, id);
  }
  return ids.map((id) => ({ id, logprob: logits[id]! - normaliser }));
}
