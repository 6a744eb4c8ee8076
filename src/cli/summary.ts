import type { GenerationResult } from "../engine/generation-result.ts";
import type { ModelInfo } from "../model.ts";
import { formatBytes, formatDuration, formatRate, plural } from "./format.ts";
import { firstLine, oneLine } from "./terminal-text.ts";

/** `smollm2, 98.4 MB at 5.01 bits per weight, on wasm relaxed-simd with 2 threads (why)`. */
export function describeModel({ name, weightBytes, bitsPerWeight, executor }: ModelInfo): string {
  const weights = `${formatBytes(weightBytes)} at ${bitsPerWeight.toFixed(2)} bits per weight`;
  const where = `${executor.name} ${executor.kernel}, ${plural(executor.threads, "thread")} (${executor.reason})`;
  return `${oneLine(name)} · ${weights} · ${where}`;
}

/** `first token 180 ms · prefill 240 tokens/s · decode 52.3 tokens/s`. */
export function describeTimings({ timings, usage }: GenerationResult): string {
  const { firstTokenMs, prefillTokensPerSecond, decodeTokensPerSecond } = timings;
  const parts = [`first token ${formatDuration(firstTokenMs)}`, `prefill ${formatRate(prefillTokensPerSecond)}`];
  // One token has no pace.
  if (usage.completionTokens > 1) parts.push(`decode ${formatRate(decodeTokensPerSecond)}`);
  return parts.join(" · ");
}

/** The executors and kernels that were not taken, a line each; empty where the first choice runs. */
export function describeRejected({ executor }: ModelInfo): string {
  return executor.rejected.map(({ kernel, reason }) => `not ${kernel}: ${firstLine(reason)}\n`).join("");
}

/** What `run --json` prints. */
export function resultJson(info: ModelInfo, result: GenerationResult): string {
  const { text, finishReason, usage, timings, seed, tokens } = result;
  const withLogprobs = tokens.some(({ logprob }) => logprob !== undefined);
  const answer = { text, finishReason, usage, timings, seed, ...(withLogprobs && { tokens }) };
  return JSON.stringify({ ...answer, model: info }, undefined, 2);
}
