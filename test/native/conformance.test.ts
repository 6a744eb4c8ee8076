import { describe, expect, it } from "vitest";
import type { Executor, LoadOptions, StepBatch } from "../../src/executors/executor.ts";
import { nativeExecutor } from "../../src/executors/native/native-executor.ts";
import { referenceExecutor } from "../../src/executors/reference/reference.ts";
import type { ActivationMode, CacheType } from "../../src/plan/plan.ts";
import { MATRIX_KINDS, Random, type RandomModel, randomModel } from "../random-plan.ts";

const missing = await nativeExecutor.unavailable();
const kernels = missing ? [] : await nativeExecutor.kernels();
const runnable = kernels.filter(({ unavailable }) => unavailable === undefined).map(({ name }) => name);

const blocks = Int32Array.from([5, 2, 0, 3, 7]);
const neighbour = Int32Array.from([1, 4, 6, 8, 9]);
const BLOCKS = 10;
const compile = { maxRows: 70, maxLogitRows: 70 };
/** Sanitizers make kernels many times slower: the same ops and kernels, on fewer models, rows and numbers of threads. */
const sanitized = process.env.HALFBYTE_SANITIZED !== undefined;
/** Rows of the steps of one sequence: one, a few, odd, whole blocks and over them. */
const PIECES = sanitized ? [1, 7, 17] : [1, 2, 7, 16, 33, 1];

function steps(random: Random): StepBatch[] {
  const ids = (count: number): Int32Array => Int32Array.from({ length: count }, () => random.below(33));
  const every = (count: number): Int32Array => Int32Array.from({ length: count }, (_, i) => i);
  let position = 0;
  const alone = PIECES.map((rows) => {
    const segments = [{ rows, position, blocks }];
    position += rows;
    return { tokenIds: ids(rows), segments, logitRows: every(rows) };
  });
  // Beside another sequence, with only some logits asked for.
  const together = {
    tokenIds: ids(8),
    segments: [
      { rows: 5, position: 0, blocks: neighbour },
      { rows: 3, position, blocks },
    ],
    logitRows: Int32Array.of(0, 4, 6),
  };
  const noLogits = { tokenIds: ids(2), segments: [{ rows: 2, position: 5, blocks: neighbour }], logitRows: every(0) };
  return [...alone, together, noLogits];
}

/** The bits of the logits of every step. */
async function bitsOf(executor: Executor, { plan, weights }: RandomModel, batches: StepBatch[], options?: LoadOptions) {
  const runner = await executor.load(plan, weights, options);
  expect(runner.executor).toMatchObject({ name: executor.name, ...options });
  runner.ensureBlocks(4);
  runner.ensureBlocks(BLOCKS);
  const bits: Uint32Array[] = [];
  for (const batch of batches) bits.push(new Uint32Array((await runner.step(batch)).slice().buffer));
  await runner.dispose();
  return bits;
}

function modelsFor(activations: ActivationMode, cacheType: CacheType): RandomModel[] {
  return (sanitized ? [1] : [1, 2, 3, 4, 5, 6]).map((seed) =>
    randomModel({ seed: seed * 7919, compile: { ...compile, activations, cacheType } }),
  );
}

describe.runIf(missing)("the native executor", () => {
  it.skip(`is not tested here: ${missing?.split("\n")[0]}; npm run build:native`, () => {});
});

describe.skipIf(missing)("native kernels give the reference's bits", () => {
  it("tests every kernel this CPU can run", () => {
    expect(runnable).toContain("scalar");
    for (const { name, unavailable: reason } of kernels)
      if (reason) console.log(`kernel ${name} is not tested here: ${reason}`);
  });

  const modes: [ActivationMode, CacheType][] = [
    ["a8", "f16"],
    ["a8", "f32"],
    ["a16", "f16"],
    ["a8-per-token", "f16"],
  ];
  it.each(modes)("random plans of every op, %s, %s cache, by every kernel on 1 to 3 threads", async (mode, cache) => {
    for (const model of modelsFor(mode, cache)) {
      const batches = steps(new Random(5));
      const expected = await bitsOf(referenceExecutor, model, batches);
      for (const kernel of runnable)
        for (const threads of sanitized ? [3] : [1, 2, 3])
          expect(await bitsOf(nativeExecutor, model, batches, { kernel, threads }), kernel).toEqual(expected);
    }
  });

  it.each(MATRIX_KINDS)("%s weights, 8- and 16-bit activations, by every kernel", async (kind) => {
    const all = ["a8", "a16", "a8-per-token"] as const;
    for (const activations of sanitized ? [all[MATRIX_KINDS.indexOf(kind) % 3]!] : all) {
      const model = randomModel({ seed: 77, kinds: [kind], layers: 1, compile: { ...compile, activations } });
      const batches = steps(new Random(6));
      const expected = await bitsOf(referenceExecutor, model, batches);
      for (const kernel of runnable)
        expect(await bitsOf(nativeExecutor, model, batches, { kernel, threads: 2 }), kernel).toEqual(expected);
    }
  });
});
