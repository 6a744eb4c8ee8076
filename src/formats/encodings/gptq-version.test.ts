import { describe, expect, it } from "vitest";
import { constantZero, gptqVersion, type ZeroEvidence, zeroEvidence } from "./gptq-version.ts";
import { newTensor } from "./tensors.ts";

const constant = (zero: number, bits: 4 | 8 = 4): ZeroEvidence => ({
  bits,
  constant: zero,
  difference: 0,
  count: 1000,
});
const mean = (steps: number): ZeroEvidence => ({ bits: 4, constant: undefined, difference: steps * 1000, count: 1000 });

describe("GPTQ's version", () => {
  it.each([
    ["symmetric zeros less one", [constant(7)], undefined, "v1"],
    ["symmetric zeros", [constant(8), constant(128, 8)], undefined, "v2"],
    ["weights centred as v1", [mean(1.1)], undefined, "v1"],
    ["weights centred as v2", [mean(-0.1)], undefined, "v2"],
    ["symmetric zeros and centred weights", [constant(7), mean(0.9)], "v1", "v1"],
    ["values that tell nothing, but declared", [mean(4), constant(3)], "v2", "v2"],
    ["nothing but what is declared", [mean(0.5)], "v1", "v1"],
  ] as const)("follows from %s", (_, evidence, declared, version) => {
    expect(gptqVersion(evidence, declared, "w.qzeros")).toEqual({ version });
  });

  it("is that of symmetric zeros, though the other one is declared, and says so", () => {
    expect(gptqVersion([constant(8)], "v1", "w")).toEqual({ version: "v2", note: expect.stringMatching(/v2, not v1/) });
  });

  it.each([
    [
      "values that tell nothing",
      [mean(0.5)],
      undefined,
      /cannot be told.*0\.50 steps as v2, -0\.50 as v1.*checkpoint_format/,
    ],
    ["matrices that contradict each other", [constant(7), constant(8)], "v1", /contradict/],
    ["zeros that contradict the weights", [constant(7), mean(0)], "v1", /contradict/],
    ["weights that speak against what is declared", [mean(0)], "v1", /speak against v1/],
  ] as const)("is refused for %s", (_, evidence, declared, message) => {
    expect(() => gptqVersion(evidence, declared, "w.qzeros")).toThrow(
      expect.objectContaining({ code: "ERR_FORMAT", place: "w.qzeros", message: expect.stringMatching(message) }),
    );
  });

  it("counts codes and zeros", () => {
    const qzeros = newTensor("I32", [2, 1], Uint32Array.of(0x77777777, 0x77777776));
    const sample = newTensor("I32", [2, 8], new Uint32Array(16).fill(0x88888888));
    const form = { N: 8, K: 16, bits: 4, groupSize: 8 } as const;
    expect(zeroEvidence(qzeros, sample, form)).toEqual({
      bits: 4,
      constant: undefined,
      difference: 128 + 8,
      count: 128,
    });
    const same = newTensor("I32", [2, 1], new Uint32Array(2).fill(0xffffffff));
    const found = zeroEvidence(same, sample, form);
    expect(found.constant).toBe(15);
    // 16 does not fit a code: the carry changes the neighbours.
    expect(constantZero(found, "v1")).toBeUndefined();
    expect(constantZero(found, "v2")).toBe(15);
  });
});
