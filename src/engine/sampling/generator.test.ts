import { describe, expect, it } from "vitest";
import { Generator, randomSeed } from "./generator.ts";

describe("the generator", () => {
  it("gives the published numbers of xoshiro128** for the state 1, 2, 3, 4", () => {
    const generator = new Generator(0);
    generator.state = [1, 2, 3, 4];
    const numbers = Array.from({ length: 10 }, () => generator.nextInteger());
    expect(numbers).toEqual([
      11520, 0, 5927040, 70819200, 2031721883, 1637235492, 1287239034, 3734860849, 3729100597, 4258142804,
    ]);
  });

  it("gives the same numbers for a seed on every engine", () => {
    const first = (seed: number): number[] => {
      const generator = new Generator(seed);
      return [generator.nextUniform(), generator.nextUniform()];
    };
    expect([first(0), first(42), first(2 ** 53 - 1)]).toMatchInlineSnapshot(`
      [
        [
          0.41675133265905573,
          0.5870561741002205,
        ],
        [
          0.15377165265745885,
          0.018084542542176507,
        ],
        [
          0.4291911663822512,
          0.14260318553053764,
        ],
      ]
    `);
  });

  it("starts elsewhere for each bit of the seed", () => {
    const starts = new Set<string>();
    for (let bit = 0; bit < 53; bit++) starts.add(new Generator(2 ** bit).state.join());
    expect(starts.size).toBe(53);
  });

  it("goes on from a saved state", () => {
    const generator = new Generator(7);
    generator.nextUniform();
    const { state } = generator;
    const next = generator.nextUniform();
    const other = new Generator(8);
    other.state = JSON.parse(JSON.stringify(state));
    expect(other.nextUniform()).toBe(next);
  });

  it.each([[[0, 0, 0, 0]], [[1, 2, 3]], [[1, 2, 3, -1]], [[1, 2, 3, 0.5]], [[1, 2, 3, 2 ** 32]], [null], ["1234"]])(
    "refuses %j as a state",
    (state) => {
      const generator = new Generator(1);
      expect(() => {
        generator.state = state as never;
      }).toThrow(expect.objectContaining({ code: "ERR_ARGUMENT", place: "state" }));
    },
  );

  it("fills [0, 1) evenly", () => {
    const cells = new Float64Array(64);
    const generator = new Generator(2024);
    for (let i = 0; i < 64_000; i++) cells[Math.floor(generator.nextUniform() * 64)]! += 1;
    const chiSquare = cells.reduce((sum, n) => sum + (n - 1000) ** 2 / 1000, 0);
    // 63 degrees of freedom: mean 63, deviation 11.2; 110 is beyond 4 deviations, and the seed is fixed.
    expect(chiSquare).toBeLessThan(110);
    expect(chiSquare).toBeGreaterThan(25);
  });

  it("draws a random seed that is a seed", () => {
    const seeds = Array.from({ length: 20 }, randomSeed);
    expect(new Set(seeds).size).toBe(20);
    for (const seed of seeds) expect(Number.isSafeInteger(seed) && seed >= 0).toBe(true);
  });
});
