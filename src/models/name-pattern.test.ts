import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { namePattern, StepBudget } from "./name-pattern.ts";

const matches = (pattern: string, name: string): boolean => namePattern(pattern)!.matches(name, new StepBudget());

/** Patterns of what the engine knows, over few letters so that they often match. */
const patterns: fc.Arbitrary<string> = fc.letrec<{ either: string; sequence: string; atom: string; repeat: string }>(
  (tie) => ({
    either: fc.array(tie("sequence"), { minLength: 1, maxLength: 3 }).map((all) => all.join("|")),
    sequence: fc.array(tie("repeat"), { maxLength: 4 }).map((all) => all.join("")),
    repeat: fc
      .tuple(tie("atom"), fc.constantFrom("", "", "", "*", "+", "?", "{2}", "{1,}", "{0,2}", "*?"))
      .map(([a, r]) => a + r),
    atom: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom("a", "b", ".", "\\.", "[ab]", "[^a]", "[a-c.]", "\\d", "\\w", "1", "^", "$"),
      tie("either").map((inner) => `(${inner})`),
      tie("either").map((inner) => `(?:${inner})`),
    ),
  }),
).either;

describe("name patterns", () => {
  it("match where JavaScript's own do, from the start", () => {
    const run = fc.property(
      patterns,
      fc.string({ unit: fc.constantFrom("a", "b", "c", ".", "1"), maxLength: 8 }),
      (p, name) => {
        let own: RegExp;
        try {
          own = new RegExp(`^(?:${p})`);
        } catch {
          // `^*` and the like: Python and this engine may know them or not.
          return;
        }
        const pattern = namePattern(p);
        if (pattern) expect(pattern.matches(name, new StepBudget())).toBe(own.test(name));
      },
    );
    fc.assert(run, { numRuns: 2000 });
  });

  it.each([
    [".*self_attn.*", "model.layers.0.self_attn.q_proj", true],
    [".*(q|k|v)_proj$", "model.layers.0.self_attn.q_proj", true],
    [".*(q|k|v)_proj$", "model.layers.0.self_attn.o_proj", false],
    ["model\\.layers\\.[0-3]\\.", "model.layers.3.mlp.up_proj", true],
    ["layers", "model.layers.3", false],
    [".*layers\\.(1[0-9]|2\\d)\\.", "model.layers.21.mlp", true],
  ])("%s, %s: %s", (pattern, name, expected) => {
    expect(matches(pattern, name)).toBe(expected);
  });

  it.each(["(?!x)a", "(?<=x)a", "(a)\\1", "\\bq", "(?P<n>a)", "a{1000}", "(", "a)", "[a", "*", "a\\", "{2}"])(
    "%s is not understood",
    (pattern) => {
      expect(namePattern(pattern)).toBeUndefined();
    },
  );

  it("gives up in time on patterns made to take forever", () => {
    const name = `${"a".repeat(60)}!`;
    const start = performance.now();
    for (const pattern of [
      "(a*)*b",
      "(a|a)*b",
      "((a+)+)+b",
      `${"(a|a)".repeat(50)}b`,
      `${"a?".repeat(200)}${"a".repeat(200)}b`,
    ])
      expect(matches(pattern, name)).toBe(false);
    const budget = new StepBudget();
    const nested = `${"(".repeat(12)}a*${")*".repeat(12)}b`;
    for (let i = 0; i < 1000 && budget.left >= 0; i++) namePattern(nested)!.matches(name, budget);
    expect(performance.now() - start).toBeLessThan(20_000);
  });
});
