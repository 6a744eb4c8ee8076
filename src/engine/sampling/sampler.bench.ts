import { bench, describe } from "vitest";
import type { SamplingOptions } from "./options.ts";
import { Sampler } from "./sampler.ts";

const VOCABULARY = 262_144;

/** Roughly normal, as logits are: the sum of 12 uniform numbers less 6, times the spread. */
function normalLogits(spread: number): Float32Array {
  let state = 1;
  const uniform = (): number => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  return Float32Array.from({ length: VOCABULARY }, () => {
    let sum = -6;
    for (let i = 0; i < 12; i++) sum += uniform();
    return sum * spread;
  });
}

const settings: Record<string, SamplingOptions> = {
  greedy: { temperature: 0 },
  "greedy with log-probabilities": { temperature: 0, logprobs: 20 },
  "greedy with penalties": { temperature: 0, repetitionPenalty: 1.1 },
  "top-k 40, top-p, min-p": { temperature: 0.7, topK: 40, topP: 0.9, minP: 0.05 },
  "top-k 5000": { topK: 5000 },
  "min-p": { minP: 0.05 },
  temperature: { temperature: 0.8 },
  "top-p": { topP: 0.9 },
  typical: { typicalP: 0.9 },
};
const history = { tokens: Array.from({ length: 2000 }, (_, i) => i * 7), promptLength: 100 };

describe.each([
  ["peaked", 3],
  ["flat", 1],
] as const)("a token of 262,144 %s logits", (_, spread) => {
  const logits = normalLogits(spread);
  for (const [name, options] of Object.entries(settings)) {
    const sampler = new Sampler({ seed: 1, ...options });
    bench(name, () => void sampler.sample(logits, history), { time: 300 });
  }
});
