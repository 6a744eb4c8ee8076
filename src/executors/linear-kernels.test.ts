import { describe, expect, it } from "vitest";
import { MATRIX_KINDS, randomModel } from "../../test/random-plan.ts";
import type { ActivationMode, Plan } from "../plan/plan.ts";
import { linearKernels, type Running } from "./linear-kernels.ts";

const relaxed: Running = { name: "wasm", kernel: "relaxed-simd", rejected: [] };
const noAmx = { kernel: "native amx-int8", reason: "the CPU lacks amx_int8" };
const amx: Running = { name: "native", kernel: "amx-int8", rejected: [] };

function planOf(kind: string, activations: ActivationMode = "a8"): Plan {
  return randomModel({ seed: 3, kinds: [kind], layers: 1, compile: { activations } }).plan;
}

const queries = (plan: Plan, running: Running) => linearKernels(plan, running).find(({ name }) => name === "0.q")!;

describe("the kernel of each matrix", () => {
  it("is the running one's where it serves, and none where rows are only looked up", () => {
    const plan = planOf("q4_1");
    expect(linearKernels(plan, relaxed).map(({ name }) => name)).toEqual(plan.matrices.map(({ name }) => name));
    for (const { name, instructions } of linearKernels(plan, relaxed))
      if (name !== "embedding") expect(instructions).toBe("wasm relaxed-simd");
    const plans = [1, 2, 3, 4, 5, 6].map((seed) => randomModel({ seed, kinds: ["q4_1"], layers: 1 }).plan);
    const untied = plans.find(({ matrices }) => matrices.some(({ name }) => name === "head"))!;
    expect(linearKernels(untied, amx)[0]).toEqual({ name: "embedding", rejected: [] });
  });

  it("is a stand-in for 16-bit activations and for floats, with the reason", () => {
    expect(queries(planOf("q4_1", "a16"), relaxed)).toMatchObject({
      instructions: "wasm simd",
      arithmetic: "W4A16",
      rejected: [{ kernel: "wasm relaxed-simd", reason: expect.stringContaining("16") }],
    });
    expect(queries(planOf("f16"), relaxed)).toMatchObject({ instructions: "wasm simd", arithmetic: "float" });
    expect(queries(planOf("f16"), amx)).toMatchObject({
      instructions: "native avx512-vnni",
      rejected: [{ kernel: "native amx-int8", reason: expect.stringContaining("floats") }],
    });
    expect(queries(planOf("q4_1"), amx)).toMatchObject({ instructions: "native amx-int8", rejected: [] });
  });

  it("repeats why the executor took no better one", () => {
    const running: Running = { name: "native", kernel: "avx2", rejected: [noAmx] };
    expect(queries(planOf("q4_1"), running)).toEqual({
      name: "0.q",
      instructions: "native avx2",
      arithmetic: "W4A8",
      rejected: [
        noAmx,
        { kernel: "native avx512-vnni", reason: "this build does not have it" },
        { kernel: "native avx-vnni", reason: "this build does not have it" },
      ],
    });
  });

  it("takes DA8W4 by its rules, else another arithmetic with the rule that it broke", () => {
    for (const kind of ["symmetric_g128", "symmetric_g256", "per_channel", "q4_0"])
      expect(queries(planOf(kind, "a8-per-token"), amx)).toMatchObject({ arithmetic: "DA8W4", rejected: [] });
    for (const [kind, arithmetic, reason] of [
      ["cpu_int4_g64", "W4A8 per token", "the weights are not symmetric"],
      ["zeros_g64", "W4A8 per token", "the weights are not symmetric"],
      ["iq4_nl", "W4A8 per token", "the weights have a code book"],
      ["q8_0", "A8 per token", "the weights have 8 bits"],
    ] as const)
      expect(queries(planOf(kind, "a8-per-token"), amx)).toMatchObject({
        arithmetic,
        rejected: [{ kernel: "DA8W4", reason }],
      });
  });

  it("is found for every kind of matrix, activation mode and executor", () => {
    const all: Running[] = [
      amx,
      relaxed,
      { name: "native", kernel: "scalar", rejected: [noAmx] },
      { name: "wasm", kernel: "simd", rejected: [{ kernel: "native", reason: "not built" }] },
      { name: "reference", kernel: "typescript", rejected: [] },
    ];
    for (const kind of MATRIX_KINDS)
      for (const mode of ["a8", "a16", "a8-per-token"] as const) {
        const plan = planOf(kind, mode);
        for (const running of all) {
          const { instructions, arithmetic } = queries(plan, running);
          expect(instructions).toMatch(running.name);
          expect(arithmetic).toBeTruthy();
        }
      }
  });
});
