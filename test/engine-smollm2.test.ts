import { describe, expect, it } from "vitest";
import { nativeExecutor } from "../src/executors/native/native-executor.ts";
import { type GenerateOptions, type GenerationResult, loadModel, type Model } from "../src/index.ts";
import { smollm2Path } from "./models.ts";

const path = await smollm2Path();
const native = (await nativeExecutor.unavailable()) === undefined;
const REQUESTS = 64;
const QUESTIONS = [
  "Name three rivers.",
  "Write again: let a = 1; let b = 2; let c = 3;",
  "What is bread made of?",
  "Count from one to nine.",
];

function ask(model: Model, i: number, options: GenerateOptions) {
  const question = QUESTIONS[i % QUESTIONS.length]!;
  return model.chat([{ role: "user", content: i % 3 ? question : `${question} ${question}` }], {
    maxTokens: 2 + (i % 6),
    temperature: i % 2 ? 0 : 0.4 + (i % 10) / 10,
    seed: i,
    logprobs: 3,
    ...(i % 5 === 0 && { repetitionPenalty: 1.2, presencePenalty: 0.4 }),
    ...(i % 7 === 0 && { topP: 0.9, topK: 50 }),
    ...options,
  }).result;
}

const bits = ({ text, finishReason, tokens }: GenerationResult): unknown => ({ text, finishReason, tokens });

// Only native kernels read so many prompts in time; the tiny models of same-bits.test.ts do for the others.
describe.skipIf(!path || !native)(
  `SmolLM2${path ? (native ? "" : " (skipped: no native addon)") : " (skipped: not on this machine)"}`,
  () => {
    it("gives 64 requests the same text and log-probabilities alone and together", async () => {
      const model = await loadModel(path!, { executor: "native", contextLength: 1024, maxSequences: 24 });
      const numbers = [...Array(REQUESTS).keys()];
      const together = await Promise.all(numbers.map((i) => ask(model, i, {})));
      const alone: unknown[] = [];
      for (const i of numbers) alone.push(bits(await ask(model, i, { cachePrompt: false, speculation: false })));
      expect(together.map(bits)).toEqual(alone);
      expect(together.reduce((sum, { usage }) => sum + usage.cachedTokens, 0)).toBeGreaterThan(REQUESTS * 16);
      await model.dispose();
    }, 240_000);
  },
);
