import { describe, expect, it } from "vitest";
import { randomModel } from "../../test/random-plan.ts";
import { chooseKernels } from "./matrix-kernels.ts";

const relaxed = { name: "wasm", kernel: "relaxed-simd", rejected: [] } as const;

describe("the kernel of each matrix", () => {
  it("is the executor's where it serves", () => {
    const { plan } = randomModel({ seed: 3, kinds: ["q4_1"] });
    expect(chooseKernels(plan, relaxed).map(({ name }) => name)).toEqual(plan.matrices.map(({ name }) => name));
    for (const { name, use } of chooseKernels(plan, relaxed))
      expect(use).toMatch(name === "embedding" ? /relaxed-simd|row look-up/ : /relaxed-simd/);
  });

  it("is plain SIMD for 16-bit activations and for floats, and says why", () => {
    const wide = randomModel({ seed: 3, kinds: ["q4_1"], compile: { activations: "a16" } }).plan;
    expect(chooseKernels(wide, relaxed).at(-1)).toMatchObject({
      use: "simd",
      rejected: [{ kernel: "relaxed-simd", reason: expect.stringContaining("16") }],
    });
    const floats = randomModel({ seed: 3, kinds: ["f16"] }).plan;
    const choice = chooseKernels(floats, relaxed).find(({ name }) => name === "0.q");
    expect(choice).toMatchObject({ use: "simd", rejected: [{ kernel: "relaxed-simd" }] });
  });

  it("repeats why the executor took no better one", () => {
    const { plan } = randomModel({ seed: 3, kinds: ["q4_1"] });
    const rejected = [
      { kernel: "relaxed-simd", reason: "not here" },
      { kernel: "threads", reason: "not isolated" },
    ];
    const [choice] = chooseKernels(plan, { name: "wasm", kernel: "simd", rejected }).slice(1);
    expect(choice).toMatchObject({ use: "simd", rejected: [{ kernel: "relaxed-simd", reason: "not here" }] });
  });
});
