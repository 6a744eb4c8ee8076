import { describe, expect, it } from "vitest";
import { pieceTokenizer } from "../../test/grammar/piece-tokenizer.ts";
import { randomFrom, randomWalk } from "../../test/grammar/random-walk.ts";
import { compileConstraint } from "./compile-constraint.ts";
import type { ConstraintSpec } from "./token-constraint.ts";

const tokenizer = pieceTokenizer();
/** For a machine that does other things too; each takes under half a second on an idle one. */
const TIMEOUT_MS = 60_000;

function nested(depth: number, wrap: (inner: unknown) => unknown, inner: unknown = {}): unknown {
  let schema = inner;
  for (let i = 0; i < depth; i++) schema = wrap(schema);
  return schema;
}

const object = { type: "object" };

const schemas: readonly (readonly [what: string, schema: unknown, place: string])[] = [
  ["no schema", 3, "#"],
  ["no schema inside", { type: "object", properties: { a: "x" } }, "#/properties/a"],
  ["a type that is none", { type: "strin" }, "#/type"],
  ["an unknown keyword", { type: "object", properties: { a: { minimun: 3 } } }, "#/properties/a/minimun"],
  ["not", { not: { type: "string" } }, "#/not"],
  // biome-ignore lint/suspicious/noThenProperty: the keyword's name
  ["if", { if: { type: "string" }, then: { minLength: 3 } }, "#/if"],
  ["contains", { contains: { type: "string" } }, "#/contains"],
  ["uniqueItems", { type: "array", uniqueItems: true }, "#/uniqueItems"],
  ["dependentRequired", { ...object, dependentRequired: { a: ["b"] } }, "#/dependentRequired"],
  ["unevaluatedProperties beside others", { allOf: [object], unevaluatedProperties: false }, "#/unevaluatedProperties"],
  ["an unknown format", { type: "string", format: "phone" }, "#/format"],
  ["a fractional multiple", { type: "number", multipleOf: 0.01 }, "#"],
  ["a multiple of nothing", { type: "integer", multipleOf: 0 }, "#/multipleOf"],
  ["a demand for other keys", { ...object, minProperties: 2 }, "#/minProperties"],
  ["a bound that is none", { type: "integer", minimum: "3" }, "#/minimum"],
  ["a huge demand", { type: "array", minItems: 1e9 }, "#/minItems"],
  ["a huge length", { type: "string", minLength: 1e12 }, "#/minLength"],
  ["a bound of many digits", { type: "number", minimum: 1e300 }, "#"],
  ["overlapping alternatives", { oneOf: [{ type: "integer" }, { type: "number" }] }, "#/oneOf"],
  ["a reference that leaves", { $ref: "https://example.com/x.json" }, "#/$ref"],
  ["a reference to nothing", { $ref: "#/$defs/x" }, "#/$ref"],
  ["a reference to what all objects have", { $ref: "#/constructor" }, "#/$ref"],
  ["a reference to itself", { $ref: "#" }, "#"],
  ["references in a ring", { $defs: { a: { $ref: "#/$defs/b" }, b: { anyOf: [{ $ref: "#/$defs/a" }] } }, $ref: "#/$defs/a" }, "#/$defs/a"],
  ["a tree without leaves", { ...object, properties: { a: { $ref: "#" } }, required: ["a"] }, "constraint"],
  ["contradictions", { type: "integer", minimum: 3, maximum: 2 }, "constraint"],
  ["false", false, "constraint"],
  ["types that exclude each other", { allOf: [{ type: "string" }, { type: "null" }] }, "constraint"],
  ["a pattern that is none", { type: "string", pattern: "(" }, "#/pattern"],
  ["looking ahead", { type: "string", pattern: "^(?!a)b" }, "#/pattern"],
  ["a backward reference", { type: "string", pattern: "^(a)\\1$" }, "#/pattern"],
  ["a word boundary", { type: "string", pattern: "\\bx" }, "#/pattern"],
  ["a caret inside", { type: "string", pattern: "(^a|b)+" }, "#/pattern"],
  ["an exponential pattern", { type: "string", pattern: "^(.*a){0,40}[ab]{18}$" }, "#/pattern"],
  ["a pattern of two to the thirtieth states", { type: "string", pattern: "a.{30}$" }, "#/pattern"],
  ["counts of counts", { type: "string", pattern: "^(((a{0,99}){0,99}){0,99}){0,99}$" }, "#/pattern"],
  ["a pattern and a huge length", { type: "string", pattern: "^(ab|c)*$", minLength: 90_000 }, "#"],
  ["too many alternatives", { allOf: Array.from({ length: 12 }, (_, i) => ({ anyOf: [{ minimum: i }, { maxLength: i }, { minItems: i }] })) }, "#/allOf/5"],
  ["deep nesting by allOf", nested(5000, (inner) => ({ allOf: [inner] })), ""],
  ["many patterns of keys", { ...object, patternProperties: Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`^${i}`, {}])) }, "#"],
  ["a great many properties", { ...object, properties: Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, {}])) }, "#"],
]; // biome-ignore format: a table

describe("what cannot be enforced is refused, with its place", () => {
  it.each(schemas)("%s", { timeout: TIMEOUT_MS }, async (_, schema, place) => {
    const refused = compileConstraint({ type: "json_schema", schema }, tokenizer);
    await expect(refused).rejects.toThrow(expect.objectContaining({ code: "ERR_GRAMMAR" }));
    const error = await refused.catch((thrown: unknown) => thrown as { place: string });
    if (place) expect((error as { place: string }).place).toBe(place);
  });

  const grammars: readonly (readonly [string, ConstraintSpec])[] = [
    ["no root", { type: "gbnf", grammar: 'a ::= "b"' }],
    ["a missing rule", { type: "gbnf", grammar: "root ::= a" }],
    ["a rule that begins with itself", { type: "gbnf", grammar: 'root ::= root "a" | "b"' }],
    ["rules that begin with each other", { type: "gbnf", grammar: 'root ::= "x"? a\na ::= root "b" | "c"' }],
    ["a rule without an end", { type: "gbnf", grammar: 'root ::= "a" root' }],
    ["an open literal", { type: "gbnf", grammar: 'root ::= "a' }],
    ["an open set", { type: "gbnf", grammar: "root ::= [a-" }],
    ["an open group", { type: "gbnf", grammar: 'root ::= ("a"' }],
    ["groups without end", { type: "gbnf", grammar: `root ::= ${"(".repeat(100_000)}` }],
    ["a rule given twice", { type: "gbnf", grammar: 'root ::= "a"\nroot ::= "b"' }],
    ["counts in the wrong order", { type: "gbnf", grammar: 'root ::= "a"{3,2}' }],
    ["a huge count", { type: "gbnf", grammar: 'root ::= "a"{999999999}' }],
    ["garbage", { type: "gbnf", grammar: "root ::= \u0000" }],
    ["an endless text", { type: "gbnf", grammar: "a".repeat(2_000_000) }],
    ["groups in a pattern", { type: "regex", pattern: `${"(".repeat(1000)}${")".repeat(1000)}` }],
    ["a long pattern", { type: "regex", pattern: "a".repeat(1_000_000) }],
  ];
  it.each(grammars)("%s", { timeout: TIMEOUT_MS }, async (_, spec) => {
    await expect(compileConstraint(spec, tokenizer)).rejects.toThrow(expect.objectContaining({ code: "ERR_GRAMMAR" }));
  });
});

describe("what is large but sound compiles", () => {
  const large: readonly (readonly [string, unknown])[] = [
    ["an enum of 20,000", { enum: Array.from({ length: 20_000 }, (_, i) => `value-${i}-${"x".repeat(i % 20)}`) }],
    ["800 properties", { ...object, properties: Object.fromEntries(Array.from({ length: 800 }, (_, i) => [`key_${i}`, { type: "integer" }])), additionalProperties: false }],
    ["nesting", nested(400, (inner) => ({ type: "array", items: inner, maxItems: 1 }))],
    ["a long string", { type: "string", maxLength: 1e9 }],
    ["a long array", { type: "array", items: { type: "integer" }, minItems: 1000, maxItems: 1e9 }],
    ["evil repetition", { type: "string", pattern: "^(a|a|aa)*(a*)*(a+)+b?$" }],
    ["many definitions", { $defs: Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`d${i}`, { ...object, properties: { next: { $ref: `#/$defs/d${(i + 1) % 300}` } } }])), $ref: "#/$defs/d0" }],
  ]; // biome-ignore format: a table
  it.each(large)("%s", { timeout: TIMEOUT_MS }, async (_, schema) => {
    const constraint = await compileConstraint({ type: "json_schema", schema }, tokenizer);
    for (let walk = 0; walk < 2; walk++)
      randomWalk(constraint, tokenizer, { random: randomFrom(walk), softLimit: 10, hardLimit: 20 });
  });

  it("ambiguity without bound", { timeout: TIMEOUT_MS }, async () => {
    const grammar = 'root ::= ("a" root "b" | "a" root "c" | "a" root? ("b" | "c")?)';
    const place = (await compileConstraint({ type: "gbnf", grammar }, tokenizer)).start();
    for (let i = 0; i < 500; i++) {
      place.mask();
      place.accept(0x61);
    }
  });
});
