import { describe, expect, it } from "vitest";
import { referenceExecutor } from "../../src/executors/reference/reference.ts";
import { FINAL_HIDDEN } from "../../src/plan/plan.ts";
import { VARIANTS } from "./conformance.ts";
import { hiddenRows, keptCase, keptDifference } from "./kept-values.ts";

const cases = [3, 4].map(keptCase);

describe.each(VARIANTS)("$title", ({ load, skipped }) => {
  it.skipIf(skipped)("keeps the reference's values, and its logits beside them", async () => {
    for (const one of cases) expect(await keptDifference(one, load)).toBeUndefined();
  });

  it.skipIf(skipped)("refuses what is not kept, and a read before the first step", async () => {
    const runner = await load(cases[0]!.fused);
    expect(() => runner.read("0.q")).toThrow(/0\.q: this value is not kept; expected hidden/);
    expect(() => runner.read(FINAL_HIDDEN)).toThrow(/no step has left a value to read/);
    await runner.dispose();
    expect(() => runner.read(FINAL_HIDDEN)).toThrow(expect.objectContaining({ code: "ERR_DISPOSED" }));
  });
});

describe("a step that ends before the logits", () => {
  it("leaves the hidden rows that one with logits leaves, and gives none", async () => {
    const { fused, steps } = cases[0]!;
    const runner = await referenceExecutor.load(fused.plan, fused.weights);
    const [beside, alone] = await hiddenRows(runner, steps[3]!);
    expect(beside.length).toBe(3 * 256);
    expect(alone).toEqual(beside);
    expect((await runner.step({ ...steps[3]!, logits: false })).length).toBe(0);
  });

  it("may select more rows than there is room for logits of; one with logits may not", async () => {
    const { fused, steps } = cases[0]!;
    const runner = await referenceExecutor.load(fused.plan, fused.weights);
    runner.ensureBlocks(16);
    const logitRows = Int32Array.from({ length: 33 }, (_, m) => m);
    await runner.step({ ...steps[2]!, logitRows, logits: false });
    expect(runner.read(FINAL_HIDDEN).length).toBe(33 * 256);
    await expect(runner.step({ ...steps[2]!, logitRows })).rejects.toThrow(/expected at most 3, got 33/);
  });
});
