import { describe, expect, it } from "vitest";
import { Acceptance, bestCount } from "./acceptance.ts";
import { PromptLookup } from "./prompt-lookup.ts";
import { RowCosts } from "./row-costs.ts";

/** A machine where each further row costs a quarter of the first. */
function measured(): RowCosts {
  const costs = new RowCosts();
  for (let i = 0; i < 400; i++) for (let rows = 1; rows <= 8; rows++) costs.note(rows, 10 * (1 + 0.25 * (rows - 1)));
  return costs;
}

describe("costs of rows", () => {
  it("are what was measured, and follow a machine that becomes slower", () => {
    const costs = new RowCosts();
    expect(costs.ms(1)).toBeUndefined();
    for (let i = 0; i < 300; i++) for (const rows of [1, 4]) costs.note(rows, rows === 1 ? 10 : 30);
    expect(costs.ms(1)).toBeCloseTo(10, 1);
    expect(costs.ms(4)).toBeCloseTo(30, 1);
    for (let i = 0; i < 30; i++) costs.note(1, 20);
    expect(costs.ms(4)).toBeCloseTo(60, 0);
  });
});

describe("the number of guesses", () => {
  const ms = (answers: number) => (guesses: number) => 1 + 0.25 * (answers + guesses - 1);
  it("grows with the evidence, and falls to none", () => {
    expect(bestCount(7, 1, new Acceptance(99, 100), ms(1))).toBe(7);
    expect(bestCount(7, 1, new Acceptance(2, 3), ms(1))).toBe(2);
    expect(bestCount(7, 1, new Acceptance(1, 10), ms(1))).toBe(0);
  });
  it("falls when many answers share the step, as rows then cost what they bring", () => {
    expect(bestCount(7, 16, new Acceptance(1, 2), (guesses) => 16 + guesses)).toBe(0);
  });
});

describe("prompt look-up", () => {
  const repeated = Array.from({ length: 30 }, (_, i) => 100 + i);

  it("guesses what followed the longest match", () => {
    const text = [1, 2, 3, 4, 5, 9, 2, 3, 7, 8, 9, 1, 2, 3, 4, 5, 9, 2, 3];
    const lookup = new PromptLookup(text);
    const guess = lookup.guess(4, 1, measured());
    expect(guess).toEqual([7, 8, 9, 1].slice(0, guess.length));
    expect(guess.length).toBeGreaterThan(0);
  });

  it("learns that a text repeats itself, and guesses more", () => {
    const text = [...repeated, 1, 2, ...repeated.slice(0, 4)];
    const lookup = new PromptLookup(text);
    const lengths: number[] = [];
    for (let i = 4; i < 30; i++) {
      const guess = lookup.guess(7, 1, measured());
      expect(guess).toEqual([...repeated.slice(i), 1, 2, ...repeated].slice(0, guess.length));
      lengths.push(guess.length);
      text.push(repeated[i]!);
    }
    expect(lengths.at(-1)).toBe(7);
    expect(lengths[0]).toBeLessThan(7);
  });

  it("learns that a text does not repeat itself without paying for it, and forgets", () => {
    const text = [...repeated];
    const lookup = new PromptLookup(text);
    let wasted = 0;
    // Each pair comes again and goes on otherwise.
    for (let i = 0; i < 200; i++) {
      text.push(repeated[(i * 7) % 29]!, repeated[((i * 7) % 29) + 1]!);
      wasted += lookup.guess(7, 1, measured()).length;
      text.push(1000 + i);
    }
    expect(wasted).toBeLessThan(12);
    for (let i = 0; i < 40; i++) text.push(repeated[i % 30]!) && lookup.guess(7, 1, measured());
    expect(lookup.guess(7, 1, measured()).length).toBeGreaterThan(3);
  });

  it("goes round where what it found is the text's own end", () => {
    const text = [5, 5, 5, 5, 5, 5, 5, 5, 5, 5];
    const lookup = new PromptLookup(text);
    for (let i = 0; i < 20; i++) lookup.guess(3, 1, measured()) && text.push(5);
    expect(lookup.guess(3, 1, measured())).toEqual([5, 5, 5]);
  });
});
