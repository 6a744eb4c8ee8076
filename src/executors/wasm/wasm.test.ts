import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type RandomModel, randomModel } from "../../../test/random-plan.ts";
import type { PlanRunner, StepBatch } from "../executor.ts";
import { hasRelaxedSimd } from "./features.ts";
import { KernelMemory } from "./kernel-memory.ts";
import { wasmExecutor, wasmExecutorWith } from "./wasm.ts";

const compile = { maxRows: 64, maxLogitRows: 4 };

function makeModel(): RandomModel {
  return randomModel({ seed: 5, kinds: ["q4_1"], compile });
}

/** Long enough a step to be interrupted: many layers, all rows. */
function slowModel(): RandomModel {
  return randomModel({ seed: 5, kinds: ["q4_1"], layers: 60, compile });
}

async function load({ plan, weights }: RandomModel, threads = 2): Promise<PlanRunner> {
  const runner = await wasmExecutor.load(plan, weights, { threads });
  runner.ensureBlocks(8);
  return runner;
}

function batch(rows: number): StepBatch {
  return {
    tokenIds: new Int32Array(rows).fill(3),
    segments: [{ rows, position: 0, blocks: Int32Array.from([0, 1, 2, 3]) }],
    logitRows: Int32Array.of(rows - 1),
  };
}

describe("the WebAssembly executor", () => {
  it("says what it runs and what it does not", async () => {
    const runner = await load(makeModel());
    expect(runner.executor).toMatchObject({ name: "wasm", threads: 2 });
    expect(runner.executor.kernel).toBe(hasRelaxedSimd() ? "relaxed-simd" : "simd");
    expect(runner.executor.rejected.length).toBe(hasRelaxedSimd() ? 0 : 1);
    await runner.dispose();
    const { plan, weights } = makeModel();
    const inline = await wasmExecutorWith({ inline: true }).load(plan, weights, { threads: 4 });
    expect(inline.executor).toMatchObject({
      threads: 1,
      rejected: expect.arrayContaining([{ kernel: "threads", reason: "asked for" }]),
    });
    await inline.dispose();
  });

  it("refuses kernels and thread counts it does not have", async () => {
    const { plan, weights } = makeModel();
    await expect(wasmExecutor.load(plan, weights, { kernel: "avx2" })).rejects.toMatchObject({ code: "ERR_EXECUTOR" });
    await expect(wasmExecutor.load(plan, weights, { threads: 0 })).rejects.toMatchObject({ code: "ERR_ARGUMENT" });
  });

  it("starts its threads before there is a plan, and ends them where none comes", async () => {
    const { plan, weights } = makeModel();
    await expect(wasmExecutor.prepare!({ kernel: "avx2" })).rejects.toMatchObject({ code: "ERR_EXECUTOR" });
    await expect(wasmExecutor.prepare!({ threads: 0 })).rejects.toMatchObject({ code: "ERR_ARGUMENT" });
    const unused = await wasmExecutor.prepare!({ threads: 2 });
    await unused.dispose();
    await expect(unused.load(plan, weights)).rejects.toMatchObject({ code: "ERR_DISPOSED" });

    const abandoned = await wasmExecutor.prepare!({ threads: 2 });
    const loading = abandoned.load(plan, weights);
    await Promise.all([
      expect(loading).rejects.toMatchObject({ code: "ERR_DISPOSED" }),
      new Promise((resolve) => setTimeout(resolve)).then(() => abandoned.dispose()),
    ]);
  });

  it("refuses steps that do not fit, and a second step at a time", async () => {
    const runner = await load(makeModel());
    await expect(runner.step(batch(65))).rejects.toMatchObject({ code: "ERR_ARGUMENT" });
    const first = runner.step(batch(60));
    await expect(runner.step(batch(1))).rejects.toThrow(/one at a time/);
    await first;
    await runner.step(batch(1));
    await runner.dispose();
  });

  it("ends a step under way when it is disposed of, at any moment", async () => {
    for (const wait of [0, 1, 3]) {
      const runner = await load(slowModel());
      const step = runner.step(batch(60));
      const outcome = step.then(
        () => "done",
        (error) => error.code,
      );
      await new Promise((resolve) => setTimeout(resolve, wait));
      await runner.dispose();
      expect(["ERR_DISPOSED", "done"]).toContain(await outcome);
      await runner.dispose();
      await expect(runner.step(batch(1))).rejects.toMatchObject({ code: "ERR_DISPOSED" });
      expect(() => runner.ensureBlocks(9)).toThrow(/disposed/);
    }
  });

  it("stops loading when it is told to", async () => {
    const { plan, weights } = makeModel();
    const abort = new AbortController();
    const onProgress = (done: number): void => void (done > 0 && abort.abort());
    await expect(wasmExecutor.load(plan, weights, { signal: abort.signal, onProgress })).rejects.toMatchObject({
      name: "AbortError",
    });
  });

  it("counts the bytes it packs", async () => {
    const { plan, weights } = makeModel();
    const seen: number[][] = [];
    const runner = await wasmExecutor.load(plan, weights, {
      onProgress: (done, total) => void seen.push([done, total]),
    });
    expect(seen.length).toBe(plan.matrices.length);
    expect(seen.at(-1)).toEqual([runner.memory.weightBytes, runner.memory.weightBytes]);
    await runner.dispose();
  });

  it("says so when memory cannot be had", async () => {
    const runner = await load(makeModel());
    expect(() => runner.ensureBlocks(10_000_000)).toThrow(expect.objectContaining({ code: "ERR_MEMORY" }));
    await runner.step(batch(1));
    await runner.dispose();
    expect(() => KernelMemory.allocate(2 ** 33, true)).toThrow(expect.objectContaining({ code: "ERR_MEMORY" }));
  });
});

describe("the process", () => {
  const held = (): number => process.getActiveResourcesInfo().filter((name) => /Worker|MessagePort/.test(name)).length;

  it("is kept alive by a step and not by an idle pool", async () => {
    const before = held();
    const runner = await load(makeModel());
    await runner.step(batch(1));
    expect(held()).toBe(before);
    const step = runner.step(batch(1));
    expect(held()).toBeGreaterThan(before);
    await step;
    expect(held()).toBe(before);
    await runner.dispose();
  });
});

describe("the control area", () => {
  it("has the same words in TypeScript and AssemblyScript", async () => {
    const { CONTROL, CONTROL_END } = await import("./control.ts");
    const text = readFileSync(new URL("../../../wasm/control.ts", import.meta.url), "utf8");
    const words = new Map<string, number>();
    for (const [, name, address] of text.matchAll(/export const (\w+): usize = (\d+);/g))
      words.set(name!, Number(address));
    for (const [name, address] of Object.entries(CONTROL))
      expect([name, words.get(name.replace(/[A-Z]/g, "_$&").toUpperCase())]).toEqual([name, address]);
    expect(words.get("CONTROL_END")).toBe(CONTROL_END);
  });
});
