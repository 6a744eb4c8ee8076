import { exp64, log64 } from "../arithmetic/functions64.ts";
import { HalfbyteError } from "../errors.ts";
import type { PlanRunner } from "../executors/executor.ts";
import { argmax, logSum } from "./log-probability.ts";
import { forEachPosition, type TeacherForcedOptions } from "./teacher-forced.ts";

/** What an exact model says over a text: after each position the likeliest next tokens, best first. */
export interface Truth {
  readonly ids: Int32Array;
  /** Tokens kept for each position. */
  readonly width: number;
  /** [positions, width]. */
  readonly topIds: Int32Array;
  /** Natural logarithms, of the softmax over the whole vocabulary; [positions, width]. */
  readonly topLogProbabilities: Float32Array;
  /** Minus the log-probability of the next token; [positions − 1]. */
  readonly negativeLogProbabilities: Float32Array;
}

export interface Quality {
  /** Positions compared; the text is one window. */
  readonly positions: number;
  readonly perplexity: number;
  readonly truthPerplexity: number;
  /** Mean Kullback-Leibler divergence from the truth, over its kept tokens and the rest as one. Nats. */
  readonly meanDivergence: number;
  readonly maxDivergence: number;
  /** Share of positions whose likeliest token is the truth's, 0 to 1. */
  readonly topOneAgreement: number;
  /** Positions where it is not, with the truth's gap in log-probability between the two. */
  readonly disagreements: readonly { readonly position: number; readonly gap: number }[];
}

/** Runs the truth's text, or its first `limit` tokens, and compares. Throws ERR_NON_FINITE where logits are not finite. */
export async function compareWithTruth(
  runner: PlanRunner,
  truth: Truth,
  options: TeacherForcedOptions & { readonly limit?: number } = {},
): Promise<Quality> {
  const ids = truth.ids.subarray(0, options.limit);
  const { width } = truth;
  const disagreements: { position: number; gap: number }[] = [];
  let divergence = 0;
  let maxDivergence = 0;
  let total = 0;
  let truthTotal = 0;
  const visit = (position: number, logits: Float32Array): void => {
    const topIds = truth.topIds.subarray(position * width, (position + 1) * width);
    const topLogs = truth.topLogProbabilities.subarray(position * width, (position + 1) * width);
    const all = logSum(logits);
    if (!Number.isFinite(all))
      throw new HalfbyteError("ERR_NON_FINITE", "a logit is not finite", { place: `position ${position}` });
    const each = rowDivergence(topIds, topLogs, logits, all);
    divergence += each;
    maxDivergence = Math.max(maxDivergence, each);
    const best = argmax(logits);
    if (best !== topIds[0]) {
      const at = topIds.indexOf(best);
      disagreements.push({ position, gap: at < 0 ? Number.POSITIVE_INFINITY : topLogs[0]! - topLogs[at]! });
    }
    if (position + 1 === ids.length) return;
    total += all - logits[ids[position + 1]!]!;
    truthTotal += truth.negativeLogProbabilities[position]!;
  };
  await forEachPosition(runner, ids, visit, options);
  return {
    positions: ids.length,
    perplexity: exp64(total / (ids.length - 1)),
    truthPerplexity: exp64(truthTotal / (ids.length - 1)),
    meanDivergence: divergence / ids.length,
    maxDivergence,
    topOneAgreement: 1 - disagreements.length / ids.length,
    disagreements,
  };
}

/** Below this the truth's f32 log-probabilities no longer say what the rest has. */
const SMALLEST_REST = 1e-6;

/** Σ p · (log p − log q) over the truth's kept tokens, and over all others taken together. */
function rowDivergence(topIds: Int32Array, topLogs: Float32Array, logits: Float32Array, logTotal: number): number {
  let divergence = 0;
  let rest = 1;
  let otherRest = 1;
  for (let i = 0; i < topIds.length; i++) {
    const logQ = logits[topIds[i]!]! - logTotal;
    const p = exp64(topLogs[i]!);
    divergence += p * (topLogs[i]! - logQ);
    rest -= p;
    otherRest -= exp64(logQ);
  }
  if (rest < SMALLEST_REST) return divergence;
  return divergence + rest * (log64(rest) - log64(Math.max(otherRest, SMALLEST_REST)));
}
