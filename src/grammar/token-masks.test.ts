import { describe, expect, it } from "vitest";
import { pieceTokenizer } from "../../test/grammar/piece-tokenizer.ts";
import { allowedIds, randomFrom } from "../../test/grammar/random-walk.ts";
import { compileConstraint } from "./compile-constraint.ts";
import type { ConstraintSpec } from "./token-constraint.ts";

/** All texts of a small alphabet up to a length. */
function texts(alphabet: string, length: number): string[] {
  const all = [""];
  for (let start = 0, round = 0; round < length; round++) {
    const end = all.length;
    for (; start < end; start++) for (const character of alphabet) all.push(all[start]! + character);
  }
  return all;
}

function tokenizerOf(pieces: readonly string[]) {
  const tokens = [...pieces.map((piece) => new TextEncoder().encode(piece)), new TextEncoder().encode("<end>")];
  const end = tokens.length - 1;
  return {
    vocabularySize: tokens.length,
    endOfGenerationIds: new Set([end]),
    tokenBytes: (id: number) => tokens[id]!,
    isSpecial: (id: number) => id === end,
    addedTokenId: () => undefined,
  };
}

const nested = {
  test: (text: string): boolean => {
    const parts = /^(a*)c*(b*)$/.exec(text);
    return text !== "" && parts !== null && parts[1]!.length === parts[2]!.length;
  },
};

const finite: [string, ConstraintSpec, { test(text: string): boolean }, string][] = [
  ["a regular expression", { type: "regex", pattern: "(ab|a)*b?c{2,3}" }, /^(ab|a)*b?c{2,3}$/, "abc"],
  ["nested repetitions", { type: "regex", pattern: "((a?b){0,2}c?)*a" }, /^((a?b){0,2}c?)*a$/, "abc"],
  ["characters of several bytes", { type: "regex", pattern: "[^a]é*.?" }, /^[^a]é*.?$/u, "aé日"],
  ["a grammar", { type: "gbnf", grammar: 'root ::= "a" root? "b" | "c"+' }, nested, "abc"],
  ["an ambiguous grammar", { type: "gbnf", grammar: 'root ::= x*\nx ::= "a" | "ab" | "b" | y\ny ::= "a"* "c"' }, /^[abc]*$/, "abc"],
  ["counts", { type: "gbnf", grammar: 'root ::= ("a" | "ab"?){2,3} "c"' }, /^(a|ab|){2,3}c$/, "abc"],
]; // biome-ignore format: a table

describe("masks", () => {
  it.each(finite)("allow exactly the tokens that keep a text of %s possible", async (_, spec, language, alphabet) => {
    const pieces = texts(alphabet, 3).slice(1);
    const tokenizer = tokenizerOf(pieces);
    const constraint = await compileConstraint(spec, tokenizer);
    const members = texts(alphabet, 8).filter((text) => language.test(text));
    const beginnings = new Set(members.flatMap((text) => Array.from({ length: text.length + 1 }, (_, i) => text.slice(0, i)))); // biome-ignore format: one line
    // Of texts of up to 4 characters, each by its characters: what follows is told by members of up to 8 characters.
    let checked = 0;
    const visit = (prefix: string, place = constraint.start()): void => {
      const allowed = allowedIds(place.mask()!).map((id) => (id === pieces.length ? "end" : pieces[id]!));
      const right = pieces.filter((piece) => prefix.length + piece.length <= 4 && beginnings.has(prefix + piece));
      expect(allowed.filter((piece) => piece !== "end" && prefix.length + piece.length <= 4)).toEqual(right);
      expect(allowed.includes("end"), prefix).toBe(language.test(prefix));
      checked++;
      if (prefix.length >= 3) return;
      for (const piece of right.filter((one) => one.length === 1)) {
        const next = place.clone();
        next.accept(pieces.indexOf(piece));
        visit(prefix + piece, next);
      }
    };
    visit("");
    expect(checked).toBeGreaterThan(3);
  });

  const schemas: [string, unknown][] = [
    ["strings", { type: "string", maxLength: 20 }],
    ["a record", { properties: { name: { type: "string" }, id: { type: "integer", minimum: 10 } }, required: ["id"], type: "object" }],
    ["anything", {}],
    ["a tree", { type: "object", properties: { a: { $ref: "#" }, n: { type: ["number", "null"] } }, additionalProperties: false }],
    ["patterns", { type: "array", items: { type: "string", pattern: "^(the|st)?[aeiou日é]{2,30}$" }, minItems: 1 }],
    ["long counts", { type: "string", minLength: 30, maxLength: 40 }],
  ]; // biome-ignore format: a table
  it.each(schemas)("for %s are what stepping through each token's bytes says", async (_, schema) => {
    const tokenizer = pieceTokenizer();
    const constraint = await compileConstraint({ type: "json_schema", schema }, tokenizer);
    const random = randomFrom(7);
    for (let walk = 0; walk < 8; walk++) {
      const place = constraint.start();
      for (let step = 0; step < 40 && !place.ended; step++) {
        const allowed = allowedIds(place.mask()!);
        const single: number[] = [];
        for (let id = 0; id < tokenizer.vocabularySize; id++) {
          // One byte at a time, by the tokens that are bytes.
          const probe = place.clone();
          try {
            if (tokenizer.endOfGenerationIds.has(id)) probe.accept(id);
            else if (tokenizer.isSpecial(id)) continue;
            else for (const byte of tokenizer.tokenBytes(id)) probe.accept(byte);
            single.push(id);
          } catch {}
        }
        expect(allowed).toEqual(single);
        const ids = allowed.filter((id) => !tokenizer.endOfGenerationIds.has(id));
        if (ids.length === 0) break;
        place.accept(ids[Math.floor(random() * ids.length)]!);
      }
    }
  });

  it("allow tokens longer than what cut stacks serve", async () => {
    const long = "x".repeat(60);
    const tokenizer = tokenizerOf(["x", long, `${"x".repeat(20)}"`, '"', `"${"x".repeat(30)}`]);
    const constraint = await compileConstraint(
      { type: "json_schema", schema: { type: "string", maxLength: 50 } },
      tokenizer,
    );
    const place = constraint.start();
    expect(allowedIds(place.mask()!)).toEqual([3, 4]);
    place.accept(4);
    expect(allowedIds(place.mask()!)).toEqual([0, 2, 3]);
    place.accept(0);
    expect(allowedIds(place.mask()!)).toEqual([0, 3]);
  });
});
