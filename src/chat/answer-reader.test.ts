import { describe, expect, it } from "vitest";
import type { Tokenizer } from "../text/tokenizer.ts";
import { TOOL_CALL_FORMATS } from "../text/tool-calls/tool-call-format.ts";
import { type AnswerPart, AnswerReader } from "./answer-reader.ts";
import type { Dialect } from "./dialect.ts";

/** Each token is a word of this list; those in angle or square brackets are special, and 0 ends. */
const WORDS = [
  "<end>",
  "<think>",
  "</think>",
  "[TOOL_CALLS]",
  "Hm",
  ". ",
  "Yes",
  ' [{"name": "f", "arguments": {"x": 1}}]',
];
const tokenizer = {
  stripsLeadingSpace: false,
  endOfGenerationIds: new Set([0]),
  isSpecial: (id: number) => id < 4,
  tokenBytes: (id: number) => new TextEncoder().encode(WORDS[id]!),
} as unknown as Tokenizer;

const marks = { open: "<think>", close: "</think>" };
const dialect: Dialect = {
  prompt: new Int32Array(1),
  reasoning: marks,
  opened: false,
  calls: TOOL_CALL_FORMATS.mistral,
  markers: new Map([1, 2, 3].map((id) => [id, WORDS[id]!])),
};

function read(ids: readonly number[], over: Partial<Dialect> = {}): { parts: AnswerPart[]; reader: AnswerReader } {
  const reader = new AnswerReader({ ...dialect, ...over }, tokenizer, { stop: ["stop"], oneCall: false });
  const parts = ids.flatMap((id) => {
    const text = tokenizer.isSpecial(id) ? "" : WORDS[id]!;
    return reader.read({ text, tokens: [{ id, text: WORDS[id]! }] });
  });
  return { parts: [...parts, ...reader.end()], reader };
}

describe("an answer's reader", () => {
  it("splits reasoning, text and calls whose marks are special tokens", () => {
    const { parts, reader } = read([1, 4, 5, 2, 6, 3, 7, 0]);
    const text = (type: string): string =>
      parts.map((part) => (part.type === type && "text" in part ? part.text : "")).join("");
    expect([text("reasoning"), text("text"), text("arguments")]).toEqual(["Hm.", "Yes", '{"x": 1}']);
    expect(parts.find(({ type }) => type === "tool_call")).toMatchObject({ index: 0, name: "f" });
    expect(reader.calls).toBe(1);
    expect(reader.reasoningTokens).toBeGreaterThanOrEqual(4);
  });

  it("counts nothing as reasoning where none was", () => {
    const { parts, reader } = read([4, 5, 6, 0]);
    expect(parts.map((part) => "text" in part && part.text).join("")).toBe("Hm. Yes");
    expect(reader.reasoningTokens).toBe(0);
  });

  it("passes the engine's text on where no mark is a special token", () => {
    const { parts } = read([4, 5, 6], { markers: new Map(), reasoning: undefined, calls: undefined });
    expect(parts).toEqual(["Hm", ". ", "Yes"].map((text) => ({ type: "text", text })));
  });
});
