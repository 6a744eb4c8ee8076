import { describe, expect, it } from "vitest";
import type { PlanRunner, StepBatch } from "../../src/executors/executor.ts";
import { nativeExecutor } from "../../src/executors/native/native-executor.ts";
import { randomModel } from "../random-plan.ts";

const missing = await nativeExecutor.unavailable();
const model = missing ? undefined : randomModel({ seed: 3, layers: 4, compile: { maxRows: 64, maxLogitRows: 1 } });

async function load(threads = 2): Promise<PlanRunner> {
  const runner = await nativeExecutor.load(model!.plan, model!.weights, { threads });
  runner.ensureBlocks(64);
  return runner;
}

function prefill(rows: number): StepBatch {
  return {
    tokenIds: new Int32Array(rows).fill(7),
    segments: [{ rows, position: 0, blocks: Int32Array.from({ length: 64 }, (_, i) => i) }],
    logitRows: Int32Array.of(rows - 1),
  };
}

describe.skipIf(missing)("a native runner", () => {
  it("can be disposed at any moment: before, in and after a step, and more than once", async () => {
    for (let round = 0; round < 30; round++) {
      const runner = await load();
      const step = runner.step(prefill(64));
      const settled = step.then(
        () => "whole",
        (error) => error.code,
      );
      if (round % 3 === 1) await new Promise(setImmediate);
      if (round % 3 === 2) await settled;
      await Promise.all([runner.dispose(), runner.dispose()]);
      expect(["whole", "ERR_DISPOSED"]).toContain(await settled);
      await expect(runner.step(prefill(1))).rejects.toMatchObject({ code: "ERR_DISPOSED" });
      expect(() => runner.ensureBlocks(100)).toThrow(expect.objectContaining({ code: "ERR_DISPOSED" }));
      expect(runner.memory.cacheBytes).toBe(0);
    }
  });

  it("empties the last logits when it is disposed", async () => {
    const runner = await load();
    const logits = await runner.step(prefill(3));
    expect(logits.length).toBe(model!.plan.vocabularySize);
    await runner.dispose();
    expect(logits.length).toBe(0);
  });

  it("runs one step at a time and leaves the event loop free", async () => {
    const runner = await load();
    let turns = 0;
    const first = runner.step(prefill(64));
    const timer = setInterval(() => turns++, 0);
    await expect(runner.step(prefill(1))).rejects.toThrow(/step is under way/);
    expect(() => runner.ensureBlocks(1000)).toThrow(/step is under way/);
    await first;
    for (let i = 0; i < 20; i++) await runner.step(prefill(64));
    clearInterval(timer);
    expect(turns).toBeGreaterThan(0);
    await runner.dispose();
  });

  it("keeps what the cache holds when it grows", async () => {
    const [small, large] = [await load(), await load()];
    for (const [runner, count] of [
      [small, 64],
      [large, 5000],
    ] as const) {
      await runner.step(prefill(20));
      runner.ensureBlocks(count);
    }
    const next = { ...prefill(1), segments: [{ ...prefill(1).segments[0]!, position: 20 }] };
    expect((await large.step(next)).slice()).toEqual((await small.step(next)).slice());
    await Promise.all([small.dispose(), large.dispose()]);
  });

  it("refuses kernels and thread counts that cannot be, with the reason", async () => {
    const loading = (options: object) => nativeExecutor.load(model!.plan, model!.weights, options);
    await expect(loading({ kernel: "abacus" })).rejects.toMatchObject({ code: "ERR_EXECUTOR" });
    await expect(loading({ kernel: "abacus" })).rejects.toThrow(/abacus cannot run here; expected one of .*scalar/);
    for (const threads of [0, 1.5, 1e9])
      await expect(loading({ threads })).rejects.toMatchObject({ code: "ERR_ARGUMENT" });
    await expect(loading({ signal: AbortSignal.abort() })).rejects.toThrow(/abort/);
  });
});
