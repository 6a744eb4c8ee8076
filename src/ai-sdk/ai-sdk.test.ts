import { embed, embedMany, generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { smollm2Path } from "../../test/models.ts";
import { loadTiny } from "../../test/server/live-server.ts";
import { loadModel, type Model } from "../index.ts";
import { embeddingModel, languageModel } from "./index.ts";

const schema = jsonSchema<{ river: string; length: number }>({
  type: "object",
  properties: { river: { enum: ["Rhine", "Nile"] }, length: { type: "integer", minimum: 1, maximum: 9999 } },
  required: ["river", "length"],
  additionalProperties: false,
});
const common = { prompt: "Name a river.", temperature: 0, maxOutputTokens: 12, maxRetries: 0 };

describe("the AI SDK on a tiny model", () => {
  let model: Model;
  beforeAll(async () => {
    model = await loadTiny();
  });
  afterAll(() => model.dispose());

  it("generates text, with usage and the reason it ended", async () => {
    const { text, finishReason, usage, warnings } = await generateText({ ...common, model: languageModel(model) });
    expect(text).not.toBe("");
    expect(finishReason).toBe("length");
    expect(usage).toMatchObject({ outputTokens: 12 });
    expect(usage.totalTokens).toBe(usage.inputTokens! + 12);
    expect(warnings).toEqual([]);
  });

  it("streams the same text", async () => {
    const { text } = await generateText({ ...common, model: languageModel(model) });
    const stream = streamText({ ...common, model: languageModel(model) });
    const pieces: string[] = [];
    for await (const piece of stream.textStream) pieces.push(piece);
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join("")).toBe(text);
    expect(await stream.finishReason).toBe("length");
  });

  it("answers by a schema, sampled", async () => {
    for (const seed of [1, 2, 3]) {
      const { output } = await generateText({
        ...common,
        model: languageModel(model),
        maxOutputTokens: 80,
        temperature: 1.5,
        seed,
        output: Output.object({ schema }),
      });
      expect(["Rhine", "Nile"]).toContain(output.river);
      expect(Number.isInteger(output.length)).toBe(true);
    }
  });

  it("calls a tool it is told to call, and answers with what that gave", async () => {
    const calls: unknown[] = [];
    const { steps } = await generateText({
      ...common,
      model: languageModel(model),
      maxOutputTokens: 100,
      tools: {
        measure: tool({
          description: "Tells how long a river is.",
          inputSchema: schema,
          execute: async (input) => {
            calls.push(input);
            return { kilometres: 1230 };
          },
        }),
      },
      toolChoice: { type: "tool", toolName: "measure" },
      stopWhen: stepCountIs(2),
    });
    expect(calls.length).toBeGreaterThanOrEqual(1);
    expect(calls[0]).toMatchObject({ river: expect.stringMatching(/Rhine|Nile/) });
    expect(steps[0]!.finishReason).toBe("tool-calls");
    expect(steps).toHaveLength(2);
  });

  it("stops when the signal says so, and refuses pictures and prompts that are too long", async () => {
    const abort = new AbortController();
    const stream = streamText({
      ...common,
      model: languageModel(model),
      maxOutputTokens: 100,
      abortSignal: abort.signal,
      onError: () => undefined,
    });
    for await (const _ of stream.textStream) abort.abort();
    expect(model.stats.running).toBe(0);
    const long = generateText({ ...common, model: languageModel(model), prompt: "x ".repeat(5000) });
    await expect(long).rejects.toMatchObject({ code: "context_length_exceeded" });
    const image = { type: "image" as const, image: new Uint8Array([137, 80, 78, 71]), mediaType: "image/png" };
    const seen = generateText({
      ...common,
      model: languageModel(model),
      prompt: undefined as never,
      messages: [{ role: "user", content: [image] }],
    });
    await expect(seen).rejects.toMatchObject({ code: "ERR_UNSUPPORTED" });
  });

  it("embeds texts", async () => {
    const { embeddings, usage } = await embedMany({ model: embeddingModel(model), values: ["a river", "a bridge"] });
    expect(embeddings).toHaveLength(2);
    expect(usage.tokens).toBeGreaterThan(2);
    const { embedding } = await embed({ model: embeddingModel(model), value: "a river" });
    expect(embedding).toEqual(embeddings[0]);
  });
});

const smollm2 = await smollm2Path();
describe.skipIf(!smollm2)(`the AI SDK on SmolLM2${smollm2 ? "" : " (skipped: not on this machine)"}`, () => {
  it("goes on with a conversation", async () => {
    await using model = await loadModel(smollm2!);
    const { text } = await generateText({
      model: languageModel(model),
      temperature: 0,
      messages: [
        { role: "user", content: "What is the capital of France?" },
        { role: "assistant", content: "The capital of France is Paris." },
        { role: "user", content: "And of Italy?" },
      ],
    });
    expect(text).toContain("Rome");
  });
});
