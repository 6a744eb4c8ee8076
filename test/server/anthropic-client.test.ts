import Anthropic from "@anthropic-ai/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Model } from "../../src/index.ts";
import { type LiveServer, liveServer, loadTiny, until } from "./live-server.ts";

describe("the official Anthropic client", () => {
  let model: Model;
  let server: LiveServer;
  let client: Anthropic;
  beforeAll(async () => {
    model = await loadTiny();
    server = await liveServer([model], { apiKeys: ["secret"] });
    client = new Anthropic({ baseURL: server.url, apiKey: "secret", maxRetries: 0 });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await model.dispose();
  });
  const request = {
    model: "tiny",
    max_tokens: 12,
    temperature: 0,
    system: "Be brief.",
    messages: [{ role: "user" as const, content: [{ type: "text" as const, text: "Hello!" }] }],
  };

  it("answers a message with usage", async () => {
    const message = await client.messages.create(request);
    expect(message).toMatchObject({ type: "message", role: "assistant", model: "tiny" });
    expect(message.content[0]).toMatchObject({ type: "text" });
    expect(["end_turn", "max_tokens"]).toContain(message.stop_reason);
    expect(message.usage.output_tokens).toBeLessThanOrEqual(12);
    expect(message._request_id).toMatch(/^req_/);
    const again = await client.messages.create(request);
    expect(again.content).toEqual(message.content);
    const all = message.usage.input_tokens + message.usage.cache_read_input_tokens!;
    expect(again.usage.input_tokens + again.usage.cache_read_input_tokens!).toBe(all);
    const { model: name, system, messages } = request;
    expect(await client.messages.countTokens({ model: name, system, messages })).toEqual({ input_tokens: all });
  });

  it("streams the same message", async () => {
    const whole = await client.messages.create(request);
    const stream = client.messages.stream(request);
    let text = "";
    stream.on("text", (delta) => {
      text += delta;
    });
    const message = await stream.finalMessage();
    expect(message.content).toMatchObject([{ type: "text", text }]);
    expect(message.content).toEqual(whole.content);
    expect(message.stop_reason).toBe(whole.stop_reason);
    expect(message.usage.output_tokens).toBe(whole.usage.output_tokens);
  });

  it("ends at a stop sequence and says which", async () => {
    const whole = await client.messages.create(request);
    const { text } = whole.content[0] as Anthropic.TextBlock;
    const stop = text.slice(2, 4);
    const stopped = await client.messages.create({ ...request, stop_sequences: ["never said", stop] });
    expect(stopped).toMatchObject({ stop_reason: "stop_sequence", stop_sequence: stop });
  });

  it("goes on from an assistant's last words", async () => {
    const whole = await client.messages.create({ ...request, max_tokens: 4 });
    const { text } = whole.content[0] as Anthropic.TextBlock;
    const prefill = { role: "assistant" as const, content: text };
    const { input_tokens } = await client.messages.countTokens({ model: "tiny", messages: request.messages });
    const longer = await client.messages.countTokens({ model: "tiny", messages: [...request.messages, prefill] });
    expect(longer.input_tokens).toBeGreaterThan(input_tokens);
    expect(longer.input_tokens).toBeLessThan(input_tokens + 12);
    expect((await client.messages.create({ ...request, messages: [...request.messages, prefill] })).role).toBe(
      "assistant",
    );
  });

  it("uses tools, streamed and whole, and takes their results", async () => {
    const tool = {
      name: "weather",
      input_schema: {
        type: "object" as const,
        properties: { city: { enum: ["Oslo", "Rome"] } },
        required: ["city"],
        additionalProperties: false,
      },
    };
    const asking = { ...request, max_tokens: 100, tools: [tool], tool_choice: { type: "any" as const } };
    const once = { ...asking, tool_choice: { ...asking.tool_choice, disable_parallel_tool_use: true } };
    const message = await client.messages.create(once);
    expect(message.stop_reason).toBe("tool_use");
    expect(message.content).toMatchObject([{ type: "tool_use", name: "weather" }]);
    const use = message.content[0] as Anthropic.ToolUseBlock;
    expect(["Oslo", "Rome"]).toContain((use.input as { city: string }).city);
    const streamed = await client.messages.stream(once).finalMessage();
    expect(streamed.content).toMatchObject([{ type: "tool_use", name: "weather", input: use.input }]);
    const next = await client.messages.create({
      ...request,
      tools: [tool],
      messages: [
        ...request.messages,
        { role: "assistant", content: message.content as Anthropic.ContentBlockParam[] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: use.id, content: "sun" }] },
      ],
    });
    expect(next.role).toBe("assistant");
  });

  it("throws the client's own errors", async () => {
    const refused = (body: object): Promise<unknown> =>
      client.messages.create({ ...request, ...body } as never).then(
        () => undefined,
        (error) => error,
      );
    expect(await refused({ model: "other" })).toBeInstanceOf(Anthropic.NotFoundError);
    expect(await refused({ max_tokens: 0 })).toMatchObject({
      status: 400,
      error: { type: "error", error: { type: "invalid_request_error", code: "integer_below_min_value" } },
    });
    expect(await refused({ messages: [{ role: "user", content: "word ".repeat(500) }] })).toMatchObject({
      error: { error: { code: "context_length_exceeded" } },
    });
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "" } };
    expect(await refused({ messages: [{ role: "user", content: [image] }] })).toMatchObject({
      error: { error: { code: "unsupported_content" } },
    });
    const stranger = new Anthropic({ baseURL: server.url, apiKey: "wrong", maxRetries: 0 });
    await expect(stranger.messages.create(request)).rejects.toBeInstanceOf(Anthropic.AuthenticationError);
  });

  it("cancels a stream when the client leaves", async () => {
    const stream = client.messages.stream({ ...request, max_tokens: 200 });
    await new Promise((resolve) => stream.once("streamEvent", resolve));
    stream.abort();
    await stream.done().catch(() => {});
    await until(() => model.stats.running === 0 && model.stats.blocksInUse === 0);
  });
});
