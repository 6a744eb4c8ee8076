import { describe, expect, it } from "vitest";
import type { Executor } from "./executor.ts";
import { selectExecutor } from "./select.ts";

const fake = (name: Executor["name"], reason?: string, kernels = ["wide", "narrow"]): Executor => ({
  name,
  unavailable: async () => reason,
  kernels: async () => kernels.map((kernel) => ({ name: kernel, unavailable: undefined })),
  load: async () => Promise.reject(new Error("not loaded here")),
});
const executors = [
  fake("native", "no binary for this platform"),
  fake("wasm", undefined, ["relaxed", "simd"]),
  fake("reference", undefined, ["simd", "abacus"]),
];

describe("the choice of an executor", () => {
  it("takes the first that runs here and says why the faster ones do not", async () => {
    const { executor, options, rejected } = await selectExecutor({}, executors);
    expect(executor.name).toBe("wasm");
    expect(options).toEqual({ disabled: [], rejected });
    expect(rejected).toEqual([{ kernel: "native", reason: "no binary for this platform" }]);
  });

  it("lets wishes stand before the environment", async () => {
    const environment = { HALFBYTE_EXECUTOR: "reference", HALFBYTE_KERNEL: "simd", HALFBYTE_THREADS: "3" };
    const fromEnvironment = await selectExecutor({ environment }, executors);
    expect(fromEnvironment.executor.name).toBe("reference");
    expect(fromEnvironment.options).toMatchObject({ kernel: "simd", threads: 3 });
    const wished = await selectExecutor({ executor: "wasm", threads: 1, environment }, executors);
    expect(wished.executor.name).toBe("wasm");
    expect(wished.options).toMatchObject({ kernel: "simd", threads: 1 });
    expect((await selectExecutor({ environment: { HALFBYTE_EXECUTOR: "" } }, executors)).executor.name).toBe("wasm");
  });

  it("is by the kernel that was asked for, where no executor was", async () => {
    const { executor, rejected } = await selectExecutor({ kernel: "abacus" }, executors);
    expect(executor.name).toBe("reference");
    expect(rejected.map(({ kernel }) => kernel)).toEqual(["native", "wasm"]);
    expect(rejected[1]!.reason).toMatch(/abacus cannot run here; expected one of relaxed, simd/);
    await expect(selectExecutor({ kernel: "gpu" }, executors)).rejects.toThrow(/gpu: cannot run here.*no such kernel/);
    const one = { executor: "wasm", environment: { HALFBYTE_KERNEL: "abacus" } };
    await expect(selectExecutor(one, executors)).rejects.toThrow(/wasm abacus: cannot run here/);
  });

  it("leaves out what is disabled, down to whole executors", async () => {
    const disabled = (names: string) =>
      selectExecutor({ environment: { HALFBYTE_DISABLED_KERNELS: names } }, executors);
    expect((await disabled("relaxed")).options.disabled).toEqual(["relaxed"]);
    expect((await disabled("relaxed,simd")).executor.name).toBe("reference");
    await expect(disabled("relaxed,simd,abacus")).rejects.toThrow(/no executor can run here.*it is disabled/);
  });

  it("is not the first where it says that another is faster, unless it was asked for", async () => {
    const slow: Executor = { ...fake("native"), outdone: async () => "only scalar" };
    const both = [slow, fake("wasm")];
    expect(await selectExecutor({}, both)).toMatchObject({
      executor: { name: "wasm" },
      rejected: [{ kernel: "native" }],
    });
    expect((await selectExecutor({ executor: "native" }, both)).executor).toBe(slow);
  });

  it("refuses what is not there or cannot run, with the reason", async () => {
    await expect(selectExecutor({ executor: "native" }, executors)).rejects.toThrow(/no binary for this platform/);
    await expect(selectExecutor({ executor: "gpu" }, executors)).rejects.toMatchObject({ code: "ERR_EXECUTOR" });
    await expect(selectExecutor({ environment: { HALFBYTE_THREADS: "two" } }, executors)).rejects.toMatchObject({
      code: "ERR_ARGUMENT",
      place: "HALFBYTE_THREADS",
    });
  });
});
