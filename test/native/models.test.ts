import { describe, expect, it } from "vitest";
import type { Executor, LoadOptions, StepBatch } from "../../src/executors/executor.ts";
import { nativeExecutor } from "../../src/executors/native/native-executor.ts";
import { referenceExecutor } from "../../src/executors/reference/reference.ts";
import { openGguf } from "../../src/formats/gguf/open-gguf.ts";
import { openFileSource } from "../../src/formats/node-file-source.ts";
import { type OpenModel, openModel } from "../../src/models/open-model.ts";
import type { ActivationMode } from "../../src/plan/plan.ts";
import { gemmaPath, smollm2Path } from "../models.ts";

const missing = await nativeExecutor.unavailable();
const runnable = missing ? [] : (await nativeExecutor.kernels()).filter(({ unavailable }) => unavailable === undefined);
const blocks = Int32Array.of(1, 0);
/** Seven tokens, then one: the many-row and the one-row kernels on every matrix. */
const steps: StepBatch[] = [
  {
    tokenIds: Int32Array.of(1, 504, 3575, 282, 4649, 314, 9),
    segments: [{ rows: 7, position: 0, blocks }],
    logitRows: Int32Array.of(6),
  },
  { tokenIds: Int32Array.of(260), segments: [{ rows: 1, position: 7, blocks }], logitRows: Int32Array.of(0) },
];

async function logitBits(
  executor: Executor,
  model: OpenModel,
  activations: ActivationMode,
  options?: LoadOptions,
): Promise<Uint32Array[]> {
  const runner = await executor.load(model.compile({ activations }), model.weights, options);
  try {
    runner.ensureBlocks(2);
    const bits: Uint32Array[] = [];
    for (const step of steps) bits.push(new Uint32Array((await runner.step(step)).slice().buffer));
    return bits;
  } finally {
    await runner.dispose();
  }
}

describe.skipIf(missing).each([
  ["SmolLM2 135M, Q4_1", await smollm2Path()],
  ["Gemma 3 270M, Q4_K_M", await gemmaPath()],
])("%s", (_, path) => {
  it.skipIf(!path).each<ActivationMode>(["a8", "a16"])(
    "gives the reference's logits by every kernel, 1 to 3 threads, %s (skipped where the model is not cached)",
    async (activations) => {
      const file = await openGguf(await openFileSource(path!));
      const model = await openModel(file);
      const expected = await logitBits(referenceExecutor, model, activations);
      for (const { name: kernel } of runnable)
        for (const threads of kernel === "scalar" ? [2] : [1, 2, 3]) {
          const bits = await logitBits(nativeExecutor, model, activations, { kernel, threads });
          // `toEqual` on a quarter of a million numbers is slow, and its message useless.
          expect(bits.map((b, i) => b.every((x, j) => x === expected[i]![j]))).toEqual([true, true]);
        }
      await file.close();
    },
    600_000,
  );
});
