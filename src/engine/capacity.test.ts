import { describe, expect, it } from "vitest";
import { checkCapacity } from "./capacity.ts";

describe("the cache's room", () => {
  const room = (options: object, available?: number): number =>
    checkCapacity(options, 100).cacheTokens(1000, available);

  it("is what was asked for, in tokens or bytes", () => {
    expect(room({ cacheTokens: 123 }, 10)).toBe(123);
    expect(room({ cacheBytes: 9500 }, 10)).toBe(9 * 16);
  });

  it("is four contexts, or what the machine has free", () => {
    expect(room({})).toBe(400);
    expect(room({}, 1e9)).toBe(400);
    expect(room({}, 16_000)).toBe(12 * 16);
    expect(room({}, 10)).toBe(100);
  });

  it.each([
    { cacheTokens: 99 },
    { cacheTokens: 1e9, cacheBytes: 1e9 },
    { cacheBytes: 6999 },
    { cacheBytes: Number.NaN },
    { maxSequences: 0 },
    { maxWaiting: -1 },
    { stepTokens: 1.5 },
    { promptTokens: 0 },
  ])("cannot be of %o", (options) => {
    expect(() => room(options)).toThrow(expect.objectContaining({ code: "ERR_ARGUMENT" }));
  });
});
