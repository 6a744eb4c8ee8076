import { describe, expect, it } from "vitest";
import { detectToolCalls, TOOL_CALL_FORMATS, type ToolCallFamily } from "./tool-call-format.ts";
import { parseToolCalls, type ToolCallDelta, ToolCallParser } from "./tool-call-parser.ts";

type Case = readonly [
  what: string,
  family: ToolCallFamily,
  answer: string,
  text: string,
  calls: readonly (readonly [name: string, argumentsJson: string])[],
];

const weather = '{"city": "Köln \\"a\\" }{", "days": [1, {"x": null}]}';

const cases: readonly Case[] = [
  ["no call", "hermes", "Hello <b>there</b> {}", "Hello <b>there</b> {}", []],
  ["one call", "hermes", `<tool_call>\n{"name": "weather", "arguments": ${weather}}\n</tool_call>`, "", [["weather", weather]]],
  ["text and a call", "hermes", `Let me look.\n\n<tool_call>{"name":"f","arguments":{}}</tool_call>`, "Let me look.", [["f", "{}"]]],
  ["parallel calls", "hermes", `<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>\n<tool_call>\n{"name":"g","arguments":{"b":[]}}\n</tool_call>\n`, "", [["f", '{"a":1}'], ["g", '{"b":[]}']]],
  ["text after a call", "hermes", `<tool_call>{"name":"f","arguments":{}}</tool_call>\n\nDone.`, "\n\nDone.", [["f", "{}"]]],
  ["arguments before the name", "hermes", `<tool_call>{"arguments":{"a":1},"name":"f"}</tool_call>`, "", [["f", '{"a":1}']]],
  ["arguments in a string", "hermes", `<tool_call>{"name":"f","arguments":"{\\"a\\":1}"}</tool_call>`, "", [["f", '{"a":1}']]],
  ["no arguments", "hermes", `<tool_call>{"name":"f"}</tool_call>`, "", [["f", "{}"]]],
  ["a missing end", "hermes", `<tool_call>{"name":"f","arguments":{}}`, "", [["f", "{}"]]],
  ["a malformed call", "hermes", `<tool_call>call f(1)</tool_call>`, "<tool_call>call f(1)</tool_call>", []],
  ["a call without a name", "hermes", `<tool_call>{"arguments":{}}</tool_call>`, `<tool_call>{"arguments":{}}</tool_call>`, []],
  ["half a mark at the end", "hermes", "so <tool_ca", "so <tool_ca", []],
  ["a call broken off before its name", "hermes", `<tool_call>{"na`, `<tool_call>{"na`, []],
  ["other keys", "hermes", `<tool_call>{"name":"f","city":"x"}</tool_call>`, `<tool_call>{"name":"f","city":"x"}</tool_call>`, []],
  ["a bare call", "llama3", `{"name": "f", "parameters": ${weather}}`, "", [["f", weather]]],
  ["a tagged call", "llama3", `<|python_tag|>{"name": "f", "parameters": {"a": "b"}}`, "", [["f", '{"a": "b"}']]],
  ["calls with semicolons", "llama3", `{"name":"f","parameters":{}}; {"name":"g","parameters":{"a":1}}`, "", [["f", "{}"], ["g", '{"a":1}']]],
  ["a type", "llama3", `{"type": "function", "function": "f", "parameters": {"a":1}}`, "", [["f", '{"a":1}']]],
  ["JSON that is no call", "llama3", `{"city": "x", "name": "f"}`, `{"city": "x", "name": "f"}`, []],
  ["JSON after text", "llama3", `Use {"name":"f","parameters":{}}`, `Use {"name":"f","parameters":{}}`, []],
  ["Python after the tag", "llama3", `<|python_tag|>print(1)`, `<|python_tag|>print(1)`, []],
  ["a list", "mistral", `[TOOL_CALLS] [{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]`, "", [["f", '{"a": 1}'], ["g", "{}"]]],
  ["a list whose mark is lost", "mistral", `[{"name": "f", "arguments": {"a": 1}}]`, "", [["f", '{"a": 1}']]],
  ["a name before braces", "mistral", `[TOOL_CALLS]f{"a": 1}[TOOL_CALLS]g[ARGS]{}`, "", [["f", '{"a": 1}'], ["g", "{}"]]],
  ["brackets", "mistral", "[1] and [TOOLS]", "[1] and [TOOLS]", []],
  ["a fence", "gemma", "```json\n{\"name\": \"f\", \"parameters\": {\"a\": 1}}\n```", "", [["f", '{"a": 1}']]],
  ["a fenced list", "gemma", "```tool_code\n[{\"name\": \"f\", \"parameters\": {}}, {\"name\": \"g\", \"parameters\": {}}]\n```", "", [["f", "{}"], ["g", "{}"]]],
  ["code that is no call", "gemma", "```python\nprint(1)\n```", "```python\nprint(1)\n```", []],
  ["a bare object", "gemma", '{"name": "f", "parameters": {"a": 1}}\n', "", [["f", '{"a": 1}']]],
  ["a bare list", "json", '[{"name": "f", "arguments": {}}]', "", [["f", "{}"]]],
  ["an empty answer", "json", "", "", []],
  ["numbers", "json", "[1, 2]", "[1, 2]", []],
]; // biome-ignore format: a table

function stream(family: ToolCallFamily, answer: string, size: number) {
  let id = 0;
  const parser = new ToolCallParser(TOOL_CALL_FORMATS[family], () => `id${id++}`);
  let text = "";
  const deltas: ToolCallDelta[] = [];
  const seen: string[] = [];
  for (let at = 0; at <= answer.length; at += size) {
    const piece = at + size > answer.length ? [parser.push(answer.slice(at)), parser.flush()] : [parser.push(answer.slice(at, at + size))]; // biome-ignore format: one line
    for (const one of piece) {
      text += one.text;
      seen.push(text);
      deltas.push(...one.calls);
    }
  }
  const calls: [string, string][] = [];
  for (const { index, id: callId, name, arguments: more = "" } of deltas) {
    if (name !== undefined) {
      expect(index).toBe(calls.length);
      expect(callId).toBe(`id${index}`);
      calls.push([name, ""]);
    }
    calls[index]![1] += more;
  }
  return { text, calls, deltas };
}

describe("tool calls", () => {
  it.each(cases)("%s (%s)", (_, family, answer, text, calls) => {
    for (const size of [1, 2, 3, 7, 1000]) {
      const result = stream(family, answer, size);
      expect(result.text, `in pieces of ${size}`).toBe(text);
      expect(result.calls).toEqual(calls);
    }
    expect(parseToolCalls(TOOL_CALL_FORMATS[family], answer).text).toBe(text);
  });

  it("come with the name first and arguments as they are written", () => {
    const { deltas } = stream("hermes", `<tool_call>{"name":"f","arguments":{"a":12}}</tool_call>`, 1);
    expect(deltas[0]).toEqual({ index: 0, id: "id0", name: "f", arguments: "{" });
    expect(deltas.slice(1).map((delta) => delta.arguments)).toEqual([...'"a":12}']);
  });

  it("that break off in their arguments stand while streamed, and are text as a whole", () => {
    const answer = `<tool_call>{"name":"f","arguments":{"a":`;
    expect(stream("hermes", answer, 3).calls).toEqual([["f", '{"a":']]);
    expect(parseToolCalls(TOOL_CALL_FORMATS.hermes, answer)).toEqual({ text: answer, calls: [] });
  });

  it("have ids of the family's kind", () => {
    const id = (family: ToolCallFamily): string =>
      parseToolCalls(TOOL_CALL_FORMATS[family], '[{"name": "f", "arguments": {}}]').calls[0]!.id;
    expect(id("json")).toMatch(/^call_[A-Za-z0-9]{24}$/);
    expect(id("mistral")).toMatch(/^[A-Za-z0-9]{9}$/);
  });

  it("are told by the chat template", () => {
    expect(detectToolCalls("… <tool_call> …").family).toBe("hermes");
    expect(detectToolCalls("… [TOOL_CALLS] …").family).toBe("mistral");
    expect(detectToolCalls("<|start_header_id|> … <|python_tag|>").family).toBe("llama3");
    expect(detectToolCalls("<start_of_turn>").family).toBe("gemma");
    expect(detectToolCalls("<|im_start|>").family).toBe("json");
  });
});
