import { describe, expect, it } from "vitest";
import { TOOL_CALL_FORMATS } from "../text/tool-calls/tool-call-format.ts";
import { toolCallMessagePart } from "./conversation.ts";
import { describeTools, readsTools } from "./described-tools.ts";

const { syntax } = TOOL_CALL_FORMATS.json;
const tools = [{ name: "time", description: "The time.", parameters: { type: "object" } }];

describe("tools for a template that knows none", () => {
  it("are described after the system's words, or in a message of their own", () => {
    const user = { role: "user", content: "Hi" };
    const [system, ...rest] = describeTools([{ role: "system", content: "Be kind." }, user], tools, syntax);
    expect(system).toMatchObject({ role: "system", content: expect.stringMatching(/^Be kind\.\n\n/) });
    expect(system!.content).toContain(JSON.stringify(tools[0]));
    expect(system!.content).toContain('{"name": NAME, "arguments": {…}}');
    expect(rest).toEqual([user]);
    const [own] = describeTools([user], tools, syntax);
    expect(`Be kind.\n\n${own!.content}`).toBe(system!.content);
    expect(describeTools([user], [], syntax)).toEqual([user]);
  });

  it("have calls and results in words, in turns", () => {
    const calls = ["a", "b"].map((city) => toolCallMessagePart(city, "time", JSON.stringify({ city })));
    const messages = [
      { role: "user", content: "When?" },
      { role: "assistant", content: "", tool_calls: calls },
      { role: "tool", name: "time", content: "noon", tool_call_id: "a" },
      { role: "tool", content: "night", tool_call_id: "b" },
      { role: "user", content: "So?" },
    ];
    expect(describeTools(messages, [], syntax)).toEqual([
      { role: "user", content: "When?" },
      {
        role: "assistant",
        content: '{"name":"time","arguments":{"city":"a"}}\n{"name":"time","arguments":{"city":"b"}}',
      },
      { role: "user", content: "Result of time: noon\nResult: night\nSo?" },
    ]);
  });

  it("are told from those of a template that does", () => {
    expect(readsTools("{% if tools %}{% endif %}")).toBe(true);
    expect(readsTools("{% for message in messages %}{{ message['content'] }}{% endfor %}")).toBe(false);
  });
});
