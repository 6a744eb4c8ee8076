import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ChatMessage, ChatTemplate } from "./chat-template.ts";

interface Templates {
  bos_token: string;
  eos_token: string;
  templates: Record<string, string>;
  conversations: Record<string, ChatMessage[]>;
  cases: {
    template: string;
    conversation: string;
    variables: Record<string, unknown>;
    add_generation_prompt: boolean;
    rendered?: string;
    error?: string;
  }[];
}

function golden<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`../../test/golden/${name}`, import.meta.url), "utf8"));
}

describe("templates as they stand in model files", () => {
  const { bos_token, eos_token, templates, conversations, cases } = golden<Templates>("chat-templates.json");
  it.each(cases)("render as Jinja2 does: $template, $conversation, $variables, $add_generation_prompt", (it) => {
    const template = new ChatTemplate(templates[it.template]!, { specialTokens: { bos_token, eos_token } });
    const render = (): string =>
      template.render({
        messages: conversations[it.conversation]!,
        addGenerationPrompt: it.add_generation_prompt,
        variables: it.variables,
      });
    if (it.error === undefined) expect(render()).toBe(it.rendered);
    else
      expect(render).toThrow(
        expect.objectContaining({ code: "ERR_CHAT_TEMPLATE", message: expect.stringContaining(it.error) }),
      );
  });
});

describe("SmolLM2's template", () => {
  const { chat_template, cases } = golden<{
    chat_template: string;
    cases: { name: string; messages: ChatMessage[]; add_generation_prompt: boolean; rendered: string }[];
  }>("chat-smollm2.json");
  const template = new ChatTemplate(chat_template);
  it.each(cases)("renders $name, generation prompt $add_generation_prompt", (it) => {
    expect(template.render({ messages: it.messages, addGenerationPrompt: it.add_generation_prompt })).toBe(it.rendered);
  });
});

describe("expressions", () => {
  const { variables, cases } = golden<{
    variables: Record<string, unknown>;
    cases: { template: string; rendered?: string; error?: string }[];
  }>("chat-expressions.json");
  it.each(cases)("mean what they mean to Jinja2 3.1.6: $template", ({ template, rendered, error }) => {
    const render = (): string => new ChatTemplate(template).render({ messages: [], variables });
    if (error === undefined) expect(render()).toBe(rendered);
    else expect(render).toThrow(expect.objectContaining({ code: "ERR_CHAT_TEMPLATE" }));
  });
});

describe("damaged templates", () => {
  const { templates, conversations } = golden<Templates>("chat-templates.json");
  const { variables, cases } = golden<{ variables: Record<string, unknown>; cases: { template: string }[] }>(
    "chat-expressions.json",
  );
  const sources = [...Object.values(templates), ...cases.map(({ template }) => template)];
  const syntax =
    "{{ }} {% %} {# -%} | ( ) [ ] { } ~ + ** ' \" for endfor if endif set in is not loop. |tojson 0 -1 , : =".split(
      " ",
    );
  const edit = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    cut: fc.nat(10),
    put: fc.oneof(fc.constantFrom(...syntax), fc.string({ maxLength: 3 })),
  });

  it("render, or are refused with ERR_CHAT_TEMPLATE", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...sources),
        fc.array(edit, { minLength: 1, maxLength: 4 }),
        fc.constantFrom(...Object.values(conversations)),
        (source, edits, messages) => {
          let damaged = source;
          for (const { at, cut, put } of edits) {
            const start = Math.floor(at * damaged.length);
            damaged = damaged.slice(0, start) + put + damaged.slice(start + cut);
          }
          try {
            new ChatTemplate(damaged).render({ messages, variables });
          } catch (error) {
            expect(error).toHaveProperty("code", "ERR_CHAT_TEMPLATE");
          }
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe("ChatTemplate", () => {
  const render = (template: string, variables: Record<string, unknown> = {}): string =>
    new ChatTemplate(template, { now: () => new Date(2026, 10, 29, 9, 5, 7) }).render({ messages: [], variables });

  it("says what raise_exception said", () => {
    expect(() => render("{{ raise_exception('roles must alternate') }}")).toThrow(/roles must alternate/);
  });

  it("has the clock of strftime_now", () => {
    expect(render("{{ strftime_now('%d %b %Y, %A %-d %B %H:%M:%S') }}")).toBe(
      "29 Nov 2026, Sunday 29 November 09:05:07",
    );
  });

  it("takes tools and documents as null when there are none, and lets variables win", () => {
    const template = "{{ tools is none }}{{ documents is none }}{{ add_generation_prompt }}{{ bos_token }}";
    const made = new ChatTemplate(template, { specialTokens: { bos_token: "<s>" } });
    expect(made.render({ messages: [] })).toBe("TrueTrueTrue<s>");
    expect(made.render({ messages: [], tools: [{}], variables: { bos_token: "B" } })).toBe("FalseTrueTrueB");
  });

  it("drops transformers' generation tags", () => {
    expect(render("a {% generation %}b{% endgeneration %} c")).toBe("a b c");
  });

  it("does not run what a message says", () => {
    const made = new ChatTemplate("{{ messages[0].content }}");
    expect(made.render({ messages: [{ role: "user", content: "{{ 7 * 7 }}{% if %}" }] })).toBe("{{ 7 * 7 }}{% if %}");
  });

  it.each([
    "{{ messages.constructor }}",
    "{{ 'a'.constructor }}",
    "{{ {}.__proto__ }}",
    "{{ [].__class__ }}",
    "{{ raise_exception.call }}",
  ])("shows nothing of JavaScript: %s", (template) => {
    expect(render(template)).toBe("");
  });

  it.each([
    ["a loop over a huge range", "{% for i in range(10**9) %}{% endfor %}"],
    ["a range by a fraction of its size", "{% for i in range(0, 10**15, 1) %}{% endfor %}"],
    [
      "nested loops",
      "{% for a in range(1000) %}{% for b in range(1000) %}{% for c in range(1000) %}x{% endfor %}{% endfor %}{% endfor %}",
    ],
    ["a repeated string", "{{ 'x' * 10**12 }}"],
    ["a repeated list", "{{ [1] * 10**12 }}"],
    [
      "doubling",
      "{% set n = namespace(x='xx') %}{% for i in range(100) %}{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x }}",
    ],
    [
      "doubled lists",
      "{% set n = namespace(x=[1]) %}{% for i in range(100) %}{% set n.x = n.x + n.x %}{% endfor %}{{ n.x }}",
    ],
    [
      "shared lists that print exponentially",
      "{% set n = namespace(x=[1]) %}{% for i in range(100) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}",
    ],
    [
      "the same as JSON",
      "{% set n = namespace(x=[1]) %}{% for i in range(100) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x | tojson }}",
    ],
    [
      "the same compared",
      "{% set n = namespace(x=[1], y=[1]) %}{% for i in range(100) %}{% set n.x = [n.x, n.x] %}{% set n.y = [n.y, n.y] %}{% endfor %}{{ n.x == n.y }}",
    ],
    ["a macro that calls itself", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"],
    ["two that branch", "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(90) }}"],
    ["a namespace inside itself", "{% set n = namespace() %}{% set n.n = n %}{{ n }}"],
    [
      "growing replacements",
      "{% set n = namespace(x='a') %}{% for i in range(100) %}{% set n.x = n.x.replace('a', 'aaaa') %}{% endfor %}",
    ],
    ["a quadratic search", "{% set h = 'a' * 4000000 %}{% set p = 'a' * 2000000 ~ 'b' %}{{ p in h }}"],
    ["a wide format", "{{ '%999999999d' | format(1) }}"],
    ["a wide indent", "{{ 'a\nb' | indent(10**9) }}"],
    ["a wide JSON", "{{ [1] | tojson(indent=10**9) }}"],
    ["a large batch", "{{ [1] | batch(10**12, 0) | list }}"],
    ["many brackets", `{{ ${"(".repeat(50_000)}1${")".repeat(50_000)} }}`],
    ["many lists", `{{ ${"[".repeat(50_000)}${"]".repeat(50_000)} }}`],
    ["a long chain", `{{ 1${" + 1".repeat(40_000)} }}`],
    ["much white space", `${" ".repeat(100_000)}{% generation %}`],
    ["a long template", "x".repeat(1 << 20)],
    ["an unknown statement", "{% include 'file' %}"],
    ["an unclosed block", "{% if true %}"],
    ["an unclosed comment", "{# "],
    ["an unclosed expression", "{{ 'a"],
    ["break outside of a loop", "{% break %}"],
  ])("ends %s within seconds, with ERR_CHAT_TEMPLATE", (_name, template) => {
    const started = performance.now();
    expect(() => render(template)).toThrow(expect.objectContaining({ code: "ERR_CHAT_TEMPLATE" }));
    expect(performance.now() - started).toBeLessThan(30_000);
  });

  it("refuses variables that nest too deep, or are no data", () => {
    let deep: unknown = 1;
    for (let i = 0; i < 1000; i++) deep = [deep];
    expect(() => render("", { deep })).toThrow(expect.objectContaining({ code: "ERR_CHAT_TEMPLATE" }));
    expect(() => render("", { call: () => 1 })).toThrow(expect.objectContaining({ code: "ERR_CHAT_TEMPLATE" }));
  });

  it("renders a long conversation within the bounds", () => {
    const { templates, bos_token } = golden<Templates>("chat-templates.json");
    const messages = Array.from({ length: 2000 }, (_, i) => ({
      role: i % 2 ? "assistant" : "user",
      content: `message ${i} ${"text ".repeat(200)}`,
    }));
    for (const source of Object.values(templates)) {
      const made = new ChatTemplate(source, { specialTokens: { bos_token, eos_token: "</s>" } });
      expect(made.render({ messages }).length).toBeGreaterThan(1_900_000);
    }
  });
});
