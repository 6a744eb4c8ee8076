import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StopMatcher } from "./stop-matcher.ts";

/** The plain meaning: the shortest beginning of the text that ends in a stop string, without that string. */
function oracle(text: string, stops: readonly string[]): { text: string; stop: string | undefined } {
  for (let end = 1; end <= text.length; end++) {
    const ending = stops.filter((stop) => text.slice(0, end).endsWith(stop));
    if (ending.length === 0) continue;
    const stop = ending.reduce((a, b) => (b.length > a.length ? b : a));
    return { text: text.slice(0, end - stop.length), stop };
  }
  return { text, stop: undefined };
}

/** Cuts a text at the given places. */
function pieces(text: string, cuts: readonly number[]): string[] {
  const ends = [...cuts.map((cut) => cut % (text.length + 1)), text.length].sort((a, b) => a - b);
  return ends.map((end, i) => text.slice(ends[i - 1] ?? 0, end));
}

const letters = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 40 });
const stopLists = fc.array(fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 5 }), {
  maxLength: 4,
});

describe("StopMatcher", () => {
  it("gives what the plain meaning gives, however the text is cut", () => {
    fc.assert(
      fc.property(letters, stopLists, fc.array(fc.nat(), { maxLength: 12 }), (text, stops, cuts) => {
        const matcher = new StopMatcher(stops);
        let shown = "";
        let stop: string | undefined;
        for (const piece of pieces(text, cuts)) {
          const result = matcher.push(piece);
          shown += result.text;
          stop = result.stop;
        }
        shown += matcher.flush();
        expect({ text: shown, stop }).toEqual(oracle(text, stops));
      }),
      { numRuns: 2000 },
    );
  });

  it("holds back only what could be the beginning of a stop string", () => {
    fc.assert(
      fc.property(letters, stopLists, (text, stops) => {
        const matcher = new StopMatcher(stops);
        let shown = "";
        for (const [i, letter] of [...text].entries()) {
          const result = matcher.push(letter);
          shown += result.text;
          if (result.stop !== undefined) return;
          const held = text.slice(shown.length, i + 1);
          expect(held === "" || stops.some((stop) => stop.startsWith(held) && stop !== held)).toBe(true);
        }
      }),
    );
  });

  it("gives no text after a stop string", () => {
    const matcher = new StopMatcher(["END"]);
    expect(matcher.push("one EN")).toEqual({ text: "one ", stop: undefined });
    expect(matcher.push("D two")).toEqual({ text: "", stop: "END" });
    expect(matcher.push("three")).toEqual({ text: "", stop: "END" });
    expect(matcher.flush()).toBe("");
  });

  it("passes text through when there are no stop strings", () => {
    expect(new StopMatcher([]).push("text")).toEqual({ text: "text", stop: undefined });
  });

  it("refuses an empty stop string", () => {
    expect(() => new StopMatcher(["a", ""])).toThrow(expect.objectContaining({ code: "ERR_ARGUMENT" }));
  });

  it("takes linear time on text that almost matches", () => {
    const matcher = new StopMatcher([`${"a".repeat(10_000)}b`]);
    const started = performance.now();
    for (let i = 0; i < 100; i++) matcher.push("a".repeat(10_000));
    // A quadratic search would compare 10^10 characters; the limit only has to tell that apart from 10^6.
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});
