import { describe, expect, it } from "vitest";
import type { StepBatch } from "../../src/executors/executor.ts";
import type { ActivationMode, CacheType } from "../../src/plan/plan.ts";
import { MATRIX_KINDS, type RandomModel, randomModel } from "../random-plan.ts";
import { firstDifference, referenceBits, runScript, SCRIPT_ROWS, script, VARIANTS } from "./conformance.ts";

interface Case {
  readonly model: RandomModel;
  readonly steps: readonly StepBatch[];
  readonly wanted: Promise<Int32Array[]>;
}

/** Plan-wide choices by seed; the model's shape and ops follow from the seed. */
function makeCase(seed: number, kinds: readonly string[], activations: ActivationMode, cacheType: CacheType): Case {
  const compile = { maxRows: SCRIPT_ROWS, maxLogitRows: 3, activations, cacheType };
  const model = randomModel({ seed, kinds, layers: Math.min(kinds.length, 2), compile });
  const steps = script(model.plan, seed);
  let wanted: Promise<Int32Array[]> | undefined;
  return {
    model,
    steps,
    get wanted() {
      wanted ??= referenceBits(model, steps);
      return wanted;
    },
  };
}

const MODES: readonly ActivationMode[] = ["a8", "a16", "a8-per-token"];

const cases = new Map<string, Case>();
for (const [m, mode] of MODES.entries()) {
  for (const [k, kind] of MATRIX_KINDS.entries())
    cases.set(`${mode}, ${kind} only`, makeCase(100 * m + k + 1, [kind], mode, k % 2 ? "f32" : "f16"));
  for (let seed = 1; seed <= 4; seed++)
    cases.set(`${mode}, mixed, seed ${seed}`, makeCase(1000 * m + seed, MATRIX_KINDS, mode, seed % 2 ? "f16" : "f32"));
}

describe.each(VARIANTS)("$title", ({ load, expected, skipped }) => {
  if (skipped) {
    it.skip(`not run: ${skipped}`, () => {});
    return;
  }
  it.each([...cases])("gives the reference's bits: %s", async (_, { model, steps, wanted }) => {
    const runner = await load(model);
    try {
      expect(runner.executor).toMatchObject(expected);
      expect(firstDifference(await runScript(runner, steps), await wanted)).toBeUndefined();
    } finally {
      await runner.dispose();
    }
  });
});
