import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { embed, generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Model } from "../../src/index.ts";
import { type LiveServer, liveServer, loadTiny, until } from "./live-server.ts";

const person = jsonSchema<{ name: string }>({
  type: "object",
  properties: { name: { enum: ["Ada", "Grace"] } },
  required: ["name"],
  additionalProperties: false,
});

describe("the AI SDK over HTTP", () => {
  let model: Model;
  let server: LiveServer;
  let provider: ReturnType<typeof createOpenAICompatible>;
  beforeAll(async () => {
    model = await loadTiny();
    server = await liveServer([model], { apiKeys: ["secret"] });
    provider = createOpenAICompatible({
      name: "halfbyte",
      baseURL: `${server.url}/v1`,
      apiKey: "secret",
      includeUsage: true,
      supportsStructuredOutputs: true,
    });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await model.dispose();
  });
  const common = { prompt: "Name a person.", temperature: 0, maxOutputTokens: 20, maxRetries: 0 };

  it("generates and streams the same text, with usage", async () => {
    const whole = await generateText({ ...common, model: provider("tiny") });
    expect(whole.usage.outputTokens).toBeGreaterThan(0);
    const stream = streamText({ ...common, model: provider("tiny") });
    let text = "";
    for await (const piece of stream.textStream) text += piece;
    expect(text).toBe(whole.text);
    expect(await stream.usage).toMatchObject({ inputTokens: whole.usage.inputTokens! });
  });

  it("answers by a schema and calls tools", async () => {
    const output = Output.object({ schema: person });
    const answer = await generateText({ ...common, model: provider("tiny"), temperature: 1.5, seed: 7, output });
    expect(["Ada", "Grace"]).toContain(answer.output.name);
    const called: string[] = [];
    const greet = tool({
      inputSchema: person,
      execute: async ({ name }) => {
        called.push(name);
        return "done";
      },
    });
    const { steps } = await generateText({
      ...common,
      model: provider("tiny"),
      maxOutputTokens: 180,
      tools: { greet },
      toolChoice: { type: "tool", toolName: "greet" },
      stopWhen: stepCountIs(1),
    });
    expect(called.length).toBeGreaterThan(0);
    expect(steps[0]!.finishReason).toBe("tool-calls");
  });

  it("is stopped by its signal, and told what is refused", async () => {
    const abort = new AbortController();
    const stream = streamText({
      ...common,
      model: provider("tiny"),
      maxOutputTokens: 200,
      abortSignal: abort.signal,
      onError: () => undefined,
    });
    for await (const _ of stream.textStream) abort.abort();
    await until(() => model.stats.running === 0);
    const long = generateText({ ...common, model: provider("tiny"), prompt: "x ".repeat(5000) });
    await expect(long).rejects.toThrow(/context/);
    await expect(generateText({ ...common, model: provider("nothing") })).rejects.toMatchObject({ statusCode: 404 });
  });

  it("embeds", async () => {
    const { embedding } = await embed({ model: provider.embeddingModel("tiny"), value: "a river" });
    const [own] = await model.embed(["a river"]);
    expect(embedding).toHaveLength(own!.vector.length);
  });
});
