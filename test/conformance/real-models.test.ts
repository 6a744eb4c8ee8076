import { describe, expect, it } from "vitest";
import type { PlanRunner, StepBatch } from "../../src/executors/executor.ts";
import { referenceExecutor } from "../../src/executors/reference/reference.ts";
import { openGguf } from "../../src/formats/gguf/open-gguf.ts";
import { openFileSource } from "../../src/formats/node-file-source.ts";
import { openModel } from "../../src/models/open-model.ts";
import type { ActivationMode, Plan } from "../../src/plan/plan.ts";
import { gemmaPath, smollm2Path } from "../models.ts";
import { Random } from "../random-plan.ts";
import { firstDifference, VARIANTS } from "./conformance.ts";

/** Tokens of the reference's run: one prompt, then one at a time. It is slow. */
const PROMPT = 48;
const STEPS = 16;
const MINUTES = 60_000;

const blocks = Int32Array.from([3, 0, 4, 1, 2]);

/** The bits of the logits of the last tokens, for a prompt cut into pieces and single tokens after it. */
async function logitBits(runner: PlanRunner, vocabulary: number, pieces: readonly number[]): Promise<Int32Array[]> {
  runner.ensureBlocks(blocks.length);
  const random = new Random(9);
  const ids = Int32Array.from({ length: PROMPT + STEPS }, () => random.below(Math.min(vocabulary, 30000)));
  const bits: Int32Array[] = [];
  let position = 0;
  for (const rows of [...pieces, ...Array<number>(STEPS).fill(1)]) {
    const end = position + rows;
    const step: StepBatch = {
      tokenIds: ids.subarray(position, end),
      segments: [{ rows, position, blocks }],
      logitRows: end < PROMPT ? new Int32Array(0) : Int32Array.of(rows - 1),
    };
    const logits = await runner.step(step);
    if (end >= PROMPT) bits.push(new Int32Array(logits.slice().buffer));
    position = end;
  }
  return bits;
}

const MODELS = [
  ["SmolLM2", await smollm2Path()],
  ["Gemma 3 270M", await gemmaPath()],
] as const;

describe.each(MODELS)("%s", (_, path) => {
  describe.skipIf(!path)(path ? "64 tokens" : "not run: the model is not on this machine", () => {
    it.each<ActivationMode>(["a8", "a16"])(
      "has the reference's logits everywhere, %s",
      { timeout: 20 * MINUTES },
      async (activations) => {
        const file = await openGguf([await openFileSource(path!)]);
        const model = await openModel(file);
        const plan: Plan = model.compile({ activations });
        const vocabulary = plan.vocabularySize;
        const reference = await referenceExecutor.load(plan, model.weights);
        const wanted = await logitBits(reference, vocabulary, [PROMPT]);
        for (const [v, variant] of VARIANTS.entries()) {
          // In 16 bits, which is slower, with two threads alone.
          if (variant.skipped || (activations === "a16" && variant.expected.threads !== 2)) continue;
          const runner = await variant.load({ plan, weights: model.weights });
          expect(runner.executor).toMatchObject(variant.expected);
          // Wherever the prompt is cut.
          const pieces = [[PROMPT], [16, 32], [31, 1, 16], [7, 41]][v % 4]!;
          const difference = firstDifference(await logitBits(runner, vocabulary, pieces), wanted);
          await runner.dispose();
          expect(difference && `${variant.title}: ${difference}`).toBeUndefined();
        }
        await Promise.all(file.sources.map((source) => source.close()));
      },
    );
  });
});
