import { describe, expect, it } from "vitest";
import { nativeExecutor } from "../../src/executors/native/native-executor.ts";
import { FINAL_HIDDEN } from "../../src/plan/plan.ts";
import { hiddenRows, keptCase, keptDifference } from "../conformance/kept-values.ts";

const missing = await nativeExecutor.unavailable();
const runnable = missing
  ? []
  : (await nativeExecutor.kernels()).flatMap(({ name, unavailable }) => (unavailable ? [] : [name]));

describe.skipIf(missing)("values that a native runner keeps", () => {
  const cases = [3, 4].map(keptCase);

  it.each(runnable)("are the reference's, and so are the logits beside them: %s", async (kernel) => {
    for (const one of cases)
      for (const threads of [1, 3]) {
        const load = ({ plan, weights }: typeof one.kept) => nativeExecutor.load(plan, weights, { kernel, threads });
        expect(await keptDifference(one, load)).toBeUndefined();
      }
  });

  it("are the same without logits, and are refused before a step, in one, and after dispose", async () => {
    const { fused, steps } = cases[0]!;
    const runner = await nativeExecutor.load(fused.plan, fused.weights);
    expect(() => runner.read(FINAL_HIDDEN)).toThrow(/no step has left a value to read/);
    const [beside, alone] = await hiddenRows(runner, steps[3]!);
    expect(alone).toEqual(beside);
    const step = runner.step(steps[0]!);
    expect(() => runner.read(FINAL_HIDDEN)).toThrow(/no step has left a value to read/);
    await step;
    await runner.dispose();
    expect(() => runner.read(FINAL_HIDDEN)).toThrow(expect.objectContaining({ code: "ERR_DISPOSED" }));
  });
});
