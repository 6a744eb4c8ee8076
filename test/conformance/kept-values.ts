import type { PlanRunner, StepBatch } from "../../src/executors/executor.ts";
import { referenceExecutor } from "../../src/executors/reference/reference.ts";
import { FINAL_HIDDEN } from "../../src/plan/plan.ts";
import { type RandomModel, randomModel } from "../random-plan.ts";
import { firstDifference, referenceBits, runScript, SCRIPT_BLOCKS, SCRIPT_ROWS, script } from "./conformance.ts";

/** One random model twice: as every step runs it, and with all its values kept. */
export interface KeptCase {
  readonly fused: RandomModel;
  readonly kept: RandomModel;
  readonly steps: readonly StepBatch[];
  /** Steps that end before the logits, with all their rows selected: more than there is room for logits of. */
  readonly ending: readonly StepBatch[];
  /** What the reference gives, made once for all executors. */
  readonly wanted: Promise<{ logits: Int32Array[]; values: Int32Array[]; ending: Int32Array[] }>;
}

export function keptCase(seed: number): KeptCase {
  const compile = { maxRows: SCRIPT_ROWS, maxLogitRows: 3 };
  const fused = randomModel({ seed, layers: 1, compile });
  const kept = randomModel({ seed, layers: 1, compile, keepAll: true });
  const steps = script(fused.plan, seed);
  const ending = steps.map((step) => ({ ...step, logits: false, logitRows: step.tokenIds.map((_, m) => m) }));
  let wanted: KeptCase["wanted"] | undefined;
  const one: KeptCase = {
    ...{ fused, kept, steps, ending },
    get wanted() {
      wanted ??= reference(one);
      return wanted;
    },
  };
  return one;
}

async function reference({ fused, kept, steps, ending }: KeptCase): ReturnType<() => KeptCase["wanted"]> {
  const runner = await referenceExecutor.load(kept.plan, kept.weights);
  return {
    logits: await referenceBits(fused, steps),
    values: await valuesOf(runner, steps),
    ending: await valuesOf(runner, ending),
  };
}

/** All values that a step leaves, the result first. */
async function valuesOf(runner: PlanRunner, steps: readonly StepBatch[]): Promise<Int32Array[]> {
  runner.ensureBlocks(SCRIPT_BLOCKS);
  const bits: Int32Array[] = [];
  for (const step of steps) {
    bits.push(bitsOf(await runner.step(step)));
    for (const { name } of runner.plan.kept) bits.push(bitsOf(runner.read(name)));
  }
  return bits;
}

const bitsOf = (values: Float32Array): Int32Array => new Int32Array(values.slice().buffer);

export type LoadRunner = (model: RandomModel) => Promise<PlanRunner>;

/** What is wrong with an executor's kept values, in few words; undefined where nothing is. */
export async function keptDifference(
  { kept, steps, ending, wanted }: KeptCase,
  load: LoadRunner,
): Promise<string | undefined> {
  const runner = await load(kept);
  try {
    const { logits, values, ending: ended } = await wanted;
    const differences = [
      firstDifference(await runScript(runner, steps), logits),
      firstDifference(await valuesOf(runner, steps), values),
      firstDifference(await valuesOf(runner, ending), ended),
    ];
    return differences.find((difference) => difference !== undefined);
  } finally {
    await runner.dispose();
  }
}

/** The final hidden rows of a step with logits, and those of one that ends before them. */
export async function hiddenRows(runner: PlanRunner, step: StepBatch): Promise<[Float32Array, Float32Array]> {
  runner.ensureBlocks(SCRIPT_BLOCKS);
  await runner.step(step);
  const beside = runner.read(FINAL_HIDDEN);
  await runner.step({ ...step, logits: false });
  return [beside, runner.read(FINAL_HIDDEN)];
}
