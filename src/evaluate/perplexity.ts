import { exp64 } from "../arithmetic/functions64.ts";
import type { PlanRunner } from "../executors/executor.ts";
import { logSum } from "./log-probability.ts";
import { forEachPosition, type TeacherForcedOptions } from "./teacher-forced.ts";

export interface Perplexity {
  /** exp of the mean negative log-probability of each next token. */
  readonly perplexity: number;
  /** Tokens that were predicted: all but the first of each window. */
  readonly tokens: number;
}

/** Perplexity of a text, teacher-forced, in windows that start anew. */
export async function perplexity(
  runner: PlanRunner,
  ids: Int32Array,
  options: TeacherForcedOptions = {},
): Promise<Perplexity> {
  const window = options.window ?? ids.length;
  let total = 0;
  let tokens = 0;
  const visit = (position: number, logits: Float32Array): void => {
    const next = position + 1;
    if (next === ids.length || next % window === 0) return;
    total += logSum(logits) - logits[ids[next]!]!;
    tokens++;
  };
  await forEachPosition(runner, ids, visit, options);
  return { perplexity: exp64(total / tokens), tokens };
}
