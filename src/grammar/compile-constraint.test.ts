import { describe, expect, it } from "vitest";
import { pieceTokenizer } from "../../test/grammar/piece-tokenizer.ts";
import { allowedIds, randomFrom, randomWalk } from "../../test/grammar/random-walk.ts";
import { TOOL_CALL_FORMATS } from "../text/tool-calls/tool-call-format.ts";
import { parseToolCalls } from "../text/tool-calls/tool-call-parser.ts";
import { compileConstraint } from "./compile-constraint.ts";
import type { CompiledConstraint, ConstraintOptions, ConstraintSpec } from "./token-constraint.ts";

const tokenizer = pieceTokenizer();
const end = tokenizer.vocabularySize - 1;
const marker = end - 1;

function compile(spec: ConstraintSpec, options?: ConstraintOptions): Promise<CompiledConstraint> {
  return compileConstraint(spec, tokenizer, options);
}

/** Is a text of the language: "whole", a "beginning" of one, or "no"? */
function judge(constraint: CompiledConstraint, text: string): "whole" | "beginning" | "no" {
  const place = constraint.start();
  try {
    for (const byte of new TextEncoder().encode(text)) place.accept(byte);
  } catch {
    return "no";
  }
  return place.ended || allowedIds(place.mask()!).includes(end) ? "whole" : "beginning";
}

describe("regular expressions", () => {
  const patterns = [
    "a|bc*",
    "[a-c\\d]+?",
    "(?:a(b)?){1,2}",
    "(?<name>x)\\u{1F600}\\x41\\u00e9",
    "[^a-z]{2}",
    "\\w\\W\\s\\S\\D",
    "^a$|^b",
    ".\\.",
    "\\p{Lu}\\P{L}",
    "[\\]\\-^]",
    "[]a",
    "a{0}b{2,}",
    "\\/\\t\\cJ\\0",
    "(a*)*b",
    "\\ud83d\\ude00",
    "[😀-😂]",
  ];
  const texts = ["", "a", "b", "bc", "bccc", "ab", "aab", "abab", "x😀Aé", "A1", "é ", "z_ ", "_ \u00a0a~", "..", "a.", "\n.", "Äß", "Ä5", "]", "-", "^", "bb", "bbbb", "/\t\n\0", "b", "😀", "😁", "c9a"]; // biome-ignore format: a table
  it.each(patterns)("%s matches what the engine's own matches", async (pattern) => {
    const own = new RegExp(`^(?:${pattern})$`, "u");
    if (pattern === "[]a") {
      await expect(compile({ type: "regex", pattern })).rejects.toThrow(
        expect.objectContaining({ code: "ERR_GRAMMAR" }),
      );
      return;
    }
    const constraint = await compile({ type: "regex", pattern });
    for (const text of texts) expect(judge(constraint, text) === "whole", JSON.stringify(text)).toBe(own.test(text));
  });

  it("give texts that they match, of whatever characters", async () => {
    for (const pattern of ["[^\\d\\n]{3}[\\u0400-\\u04ff]+", "(\\p{Script=Greek}|😀){2,4}", ".{3}"]) {
      const constraint = await compile({ type: "regex", pattern });
      for (let seed = 0; seed < 30; seed++) {
        const bytes = randomWalk(constraint, tokenizer, { random: randomFrom(seed), softLimit: 5, hardLimit: 300 });
        if (!bytes) continue;
        const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
        expect(text).toMatch(new RegExp(`^(?:${pattern})$`, "u"));
      }
    }
  });
});

describe("GBNF", () => {
  it("reads the notation of llama.cpp", async () => {
    const grammar = String.raw`
# lists of things
root   ::= item ("," ws item)* # more
item   ::= [a-c]{2} | "\"" [^"\\\n]+ "\"" |
           number | ("x"
             "y")
number ::= "-"? [0-9]{1,3} ("." [0-9]+)? unit?
unit ::= "\u00e9" | "\x41" | "\U0001F600" | [\]\-^]
ws     ::= [ \t]*
`;
    const constraint = await compile({ type: "gbnf", grammar });
    for (const text of ["ab", "ab, xy", '"é",12', "-1.5é", "7A", "7😀", "1],2-,3^", "999"])
      expect(judge(constraint, text), text).toBe("whole");
    for (const text of ["a", '"', "1.", "ab,", "ab,  "]) expect(judge(constraint, text), text).toBe("beginning");
    for (const text of ["ad", "1234", '""', "xx", ",", "1 "]) expect(judge(constraint, text), text).toBe("no");
  });

  it("follows recursion on both sides", async () => {
    const constraint = await compile({ type: "gbnf", grammar: 'root ::= "(" root* ")"' });
    expect(judge(constraint, "(()(()))")).toBe("whole");
    expect(judge(constraint, `${"(".repeat(400)}${")".repeat(400)}`)).toBe("whole");
    expect(judge(constraint, "(()")).toBe("beginning");
    expect(judge(constraint, "())")).toBe("no");
  });
});

describe("a constraint", () => {
  it("allows the end where the text may end, and nothing after it", async () => {
    const place = (await compile({ type: "regex", pattern: "ab?" })).start();
    place.accept(0x61);
    expect(allowedIds(place.mask()!)).toEqual([0x62, end]);
    const other = place.clone();
    other.accept(end);
    expect(other.ended).toBe(true);
    expect(() => other.accept(0x62)).toThrow(expect.objectContaining({ code: "ERR_GRAMMAR" }));
    place.accept(0x62);
    expect(place.ended).toBe(true);
    expect(allowedIds(place.mask()!)).toEqual([end]);
    expect(() => place.accept(0x62)).toThrow(expect.objectContaining({ code: "ERR_GRAMMAR" }));
  });

  it("begins after reasoning, in which all may come but the end", async () => {
    const constraint = await compile({ type: "json_object" }, { reasoning: { close: "</think>" } });
    expect(judge(constraint, 'hm </thi {"x" </think>\n\n{"a": 1}')).toBe("whole");
    expect(judge(constraint, "</think>}")).toBe("no");
    expect(judge(constraint, '{"a": 1}')).toBe("beginning");
    const place = constraint.start();
    expect(allowedIds(place.mask()!)).toHaveLength(tokenizer.vocabularySize - 2);
    for (const byte of new TextEncoder().encode("</")) place.accept(byte);
    // The rest of a token that ends the reasoning must begin the answer.
    const piece = pieceTokenizer([...["think>{", "think>]"]]);
    const tight = (
      await compileConstraint({ type: "json_object" }, piece, { reasoning: { close: "</think>" } })
    ).start();
    for (const byte of new TextEncoder().encode("</")) tight.accept(byte);
    const allowed = allowedIds(tight.mask()!);
    expect(allowed).toContain(259);
    expect(allowed).not.toContain(260);
  });

  it("may do without reasoning where the prompt did not open it", async () => {
    const constraint = await compile(
      { type: "regex", pattern: "yes|no" },
      { reasoning: { open: "<think>", close: "</think>" } },
    );
    expect(judge(constraint, "yes")).toBe("whole");
    expect(judge(constraint, "<think>no</think>no")).toBe("whole");
    expect(judge(constraint, "maybe")).toBe("no");
  });

  it("leaves a first space alone that is not part of the text", async () => {
    const spaced = await compile({ type: "regex", pattern: "a b" }, { dropsFirstSpace: true });
    expect(judge(spaced, " a b")).toBe("whole");
    expect(judge(spaced, "a b")).toBe("whole");
    expect(judge(spaced, "  a b")).toBe("no");
    const own = await compile({ type: "regex", pattern: " ?a" }, { dropsFirstSpace: true });
    expect(judge(own, "  a")).toBe("whole");
  });

  it("has bits for all logits of a model with more of them than tokens", async () => {
    const constraint = await compile({ type: "regex", pattern: "a" }, { vocabularySize: 1000 });
    expect(constraint.start().mask()!.length).toBe(32);
  });

  it("says so when the tokenizer cannot spell what must come", async () => {
    const few = { ...tokenizer, isSpecial: (id: number) => id !== 0x61 };
    const place = (await compileConstraint({ type: "regex", pattern: "ab" }, few)).start();
    place.accept(0x61);
    expect(() => place.mask()).toThrow(expect.objectContaining({ code: "ERR_GRAMMAR" }));
  });
});

describe("calls of tools", () => {
  const tools = [
    { name: "weather", parameters: { type: "object", properties: { city: { enum: ["Köln", "Oslo"] } }, required: ["city"], additionalProperties: false } },
    { name: "now" },
  ]; // biome-ignore format: a table

  it.each(Object.values(TOOL_CALL_FORMATS))("of the family $family are what its parser reads", async (format) => {
    const spec = { type: "tool_calls", tools, syntax: format.syntax, maxCalls: 3 } as const;
    const constraint = await compile(spec);
    const counts = new Set<number>();
    for (let seed = 0; seed < 30; seed++) {
      const bytes = randomWalk(constraint, tokenizer, { random: randomFrom(seed), softLimit: 1000, hardLimit: 4000 });
      const { text, calls } = parseToolCalls(format, new TextDecoder().decode(bytes!));
      expect(text).toBe("");
      counts.add(calls.length);
      for (const call of calls)
        expect([["weather", '{"city":"Köln"}'], ["weather", '{"city":"Oslo"}'], ["now", "{}"]]).toContainEqual([call.name, JSON.stringify(JSON.parse(call.arguments))]); // biome-ignore format: one line
    }
    expect([...counts].sort()).toEqual([1, 2, 3]);
  });

  it("may begin with a special token", async () => {
    const syntax = { ...TOOL_CALL_FORMATS.mistral.syntax, open: "<|tool|>" };
    const place = (await compile({ type: "tool_calls", tools, syntax }, { markers: ["<|tool|>"] })).start();
    expect(allowedIds(place.mask()!)).toContain(marker);
    place.accept(marker);
    expect(allowedIds(place.mask()!)).toContain(0x5b);
  });

  it("are refused with the tool's number", async () => {
    const bad = { type: "tool_calls", tools: [{ name: "f", parameters: { not: {} } }], syntax: TOOL_CALL_FORMATS.json.syntax } as const; // biome-ignore format: one line
    await expect(compile(bad)).rejects.toThrow("tools[0]");
  });
});
