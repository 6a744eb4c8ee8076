import { describe, expect, it } from "vitest";
import { checkSamplingOptions } from "./options.ts";

describe("sampling options", () => {
  it("have defaults that change nothing but draw at temperature 1", () => {
    expect(checkSamplingOptions({ seed: 5 })).toEqual({
      temperature: 1,
      topK: 0,
      topP: 1,
      minP: 0,
      typicalP: 1,
      repetitionPenalty: 1,
      frequencyPenalty: 0,
      presencePenalty: 0,
      penaltyWindow: Number.MAX_SAFE_INTEGER,
      logitBias: new Map(),
      seed: 5,
      logprobs: undefined,
    });
  });

  it("take null, as JSON has it, for absent", () => {
    const nulls = { temperature: null, topK: null, logitBias: null, seed: null, logprobs: null } as never;
    const checked = checkSamplingOptions(nulls);
    expect(checked).toMatchObject({ temperature: 1, topK: 0, logprobs: undefined });
    expect(checked.seed).not.toBe(checkSamplingOptions(nulls).seed);
  });

  it("take the logit bias as a map or an object", () => {
    const map = checkSamplingOptions({
      logitBias: new Map([
        [3, 1.5],
        [0, -100],
      ]),
    }).logitBias;
    expect(checkSamplingOptions({ logitBias: { 3: 1.5, 0: -100 } }).logitBias).toEqual(map);
  });

  it.each([
    ["temperature", [-0.1, NaN, Infinity, "1", true]],
    ["topK", [-1, 1.5, NaN, Infinity, "40"]],
    ["topP", [-0.1, 1.1, NaN]],
    ["minP", [-0.1, 1.1, NaN]],
    ["typicalP", [-0.1, 1.1, NaN]],
    ["repetitionPenalty", [0, -1, NaN, Infinity]],
    ["frequencyPenalty", [-2.1, 2.1, NaN]],
    ["presencePenalty", [-2.1, 2.1, NaN]],
    ["penaltyWindow", [0, -1, 1.5, NaN]],
    ["seed", [-1, 0.5, NaN, 2 ** 53, "1", 1n]],
    ["logprobs", [-1, 21, 0.5, NaN, true]],
    ["logitBias", [[1, 2], "x", 3, { a: 1 }, { "-1": 1 }, { "1.5": 1 }, new Map([["x", 1]]), new Map([[-1, 1]])]],
    ["logitBias[7]", [{ 7: 101 }, { 7: NaN }, { 7: -Infinity }, { 7: "1" }, new Map([[7, null]])]],
  ])("refuse a %s out of its range", (place, values) => {
    for (const value of values) {
      const name = place.replace("[7]", "");
      expect(() => checkSamplingOptions({ [name]: value } as never)).toThrow(
        expect.objectContaining({
          code: "ERR_ARGUMENT",
          place,
          expected: expect.any(String),
          got: expect.any(String),
        }),
      );
    }
  });
});
