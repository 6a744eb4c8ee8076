import { describe, expect, it } from "vitest";
import type { Executor } from "./executor.ts";
import { selectExecutor } from "./select.ts";

const fake = (name: Executor["name"], reason?: string): Executor => ({
  name,
  unavailable: async () => reason,
  load: async () => Promise.reject(new Error("not loaded here")),
});
const executors = [fake("native", "no binary for this platform"), fake("wasm"), fake("reference")];

describe("the choice of an executor", () => {
  it("takes the first that runs here and says why the faster ones do not", async () => {
    const { executor, options, rejected } = await selectExecutor({}, executors);
    expect(executor.name).toBe("wasm");
    expect(options).toEqual({});
    expect(rejected).toEqual([{ kernel: "native", reason: "no binary for this platform" }]);
  });

  it("lets wishes stand before the environment", async () => {
    const environment = { HALFBYTE_EXECUTOR: "reference", HALFBYTE_KERNEL: "simd", HALFBYTE_THREADS: "3" };
    const fromEnvironment = await selectExecutor({ environment }, executors);
    expect(fromEnvironment.executor.name).toBe("reference");
    expect(fromEnvironment.options).toEqual({ kernel: "simd", threads: 3 });
    const wished = await selectExecutor({ executor: "wasm", threads: 1, environment }, executors);
    expect(wished.executor.name).toBe("wasm");
    expect(wished.options).toEqual({ kernel: "simd", threads: 1 });
    expect((await selectExecutor({ environment: { HALFBYTE_EXECUTOR: "" } }, executors)).executor.name).toBe("wasm");
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
