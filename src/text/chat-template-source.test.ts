import { describe, expect, it } from "vitest";
import { chooseTemplate, templatesFromFiles, templatesFromGguf } from "./chat-template-source.ts";

function metadata(strings: Record<string, string>): Parameters<typeof templatesFromGguf>[0] {
  return {
    string: (key, absent) => strings[key] ?? absent,
    *[Symbol.iterator]() {
      for (const key of Object.keys(strings)) yield { key };
    },
  };
}

describe("templates of a GGUF file", () => {
  it("are the main one and the named ones", () => {
    const templates = templatesFromGguf(
      metadata({ "tokenizer.chat_template": "main", "tokenizer.chat_template.tool_use": "tools", "general.name": "x" }),
    );
    expect([...templates]).toEqual([
      ["default", "main"],
      ["tool_use", "tools"],
    ]);
    expect(chooseTemplate(templates)).toBe("main");
    expect(chooseTemplate(templates, { tools: true })).toBe("tools");
    expect(chooseTemplate(templates, { name: "tool_use" })).toBe("tools");
  });

  it("are never made up", () => {
    const none = templatesFromGguf(metadata({}));
    expect(() => chooseTemplate(none)).toThrow(
      expect.objectContaining({ code: "ERR_NO_CHAT_TEMPLATE", got: "no template at all" }),
    );
    expect(() => chooseTemplate(new Map([["a", ""]]), { name: "b" })).toThrow(
      expect.objectContaining({ code: "ERR_NO_CHAT_TEMPLATE", got: '"a"' }),
    );
  });
});

describe("templates of a Hugging Face model", () => {
  it("come from the file of their own before the tokenizer's settings", () => {
    const tokenizerConfig = { chat_template: "config" };
    expect(chooseTemplate(templatesFromFiles({ tokenizerConfig }))).toBe("config");
    expect(chooseTemplate(templatesFromFiles({ json: { chat_template: "json" }, tokenizerConfig }))).toBe("json");
    expect(chooseTemplate(templatesFromFiles({ jinja: "jinja", tokenizerConfig }))).toBe("jinja");
  });

  it("may be a list", () => {
    const templates = templatesFromFiles({
      tokenizerConfig: {
        chat_template: [
          { name: "default", template: "a" },
          { name: "rag", template: "b" },
        ],
      },
    });
    expect(chooseTemplate(templates, { name: "rag" })).toBe("b");
  });

  it.each([[5], [[{ name: 1 }]], [[null]], [{}]])("are refused when they are %j", (chat_template) => {
    expect(() => templatesFromFiles({ tokenizerConfig: { chat_template } })).toThrow(
      expect.objectContaining({ code: "ERR_FORMAT" }),
    );
  });
});
