import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadModel, type Model } from "../../src/index.ts";
import { smollm2Path } from "../models.ts";
import { type LiveServer, liveServer, loadTiny, until } from "./live-server.ts";

const hello = [{ role: "user" as const, content: "Hello!" }];

describe("the official openai client", () => {
  let model: Model;
  let server: LiveServer;
  let client: OpenAI;
  beforeAll(async () => {
    model = await loadTiny();
    server = await liveServer([model], { apiKeys: ["secret"] });
    client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "secret", maxRetries: 0 });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await model.dispose();
  });
  const chat = { model: "tiny", messages: hello, max_completion_tokens: 12, temperature: 0, ...{ ignore_eos: true } };

  it("answers a chat with usage and a request id", async () => {
    const answer = await client.chat.completions.create(chat);
    expect(answer.object).toBe("chat.completion");
    expect(answer.choices).toHaveLength(1);
    expect(answer.choices[0]).toMatchObject({ index: 0, finish_reason: "length", logprobs: null });
    expect(answer.choices[0]!.message).toMatchObject({ role: "assistant", refusal: null });
    expect(answer.usage).toMatchObject({ completion_tokens: 12, total_tokens: answer.usage!.prompt_tokens + 12 });
    expect(answer._request_id).toMatch(/^req_/);
  });

  it("streams the same text, with usage where that is asked for", async () => {
    const whole = await client.chat.completions.create(chat);
    const stream = await client.chat.completions.create({
      ...chat,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    const reasons = [];
    let usage: OpenAI.CompletionUsage | null | undefined;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      if (chunk.choices[0]?.finish_reason) reasons.push(chunk.choices[0].finish_reason);
      usage = chunk.usage ?? usage;
    }
    expect(text).toBe(whole.choices[0]!.message.content);
    expect(reasons).toEqual(["length"]);
    expect(usage).toMatchObject({ completion_tokens: 12, prompt_tokens: whole.usage!.prompt_tokens });
  });

  it("gives n choices, which differ and are repeated by the seed, streamed too", async () => {
    const sampled = { ...chat, n: 3, temperature: 1.5, seed: 7 };
    const first = await client.chat.completions.create(sampled);
    const texts = first.choices.map(({ message }) => message.content);
    expect(new Set(texts).size).toBe(3);
    expect(first.usage!.completion_tokens).toBe(36);
    const streamed = ["", "", ""];
    for await (const { choices } of await client.chat.completions.create({ ...sampled, stream: true }))
      for (const { index, delta } of choices) streamed[index] += delta.content ?? "";
    expect(streamed).toEqual(texts);
  });

  it("shows log-probabilities of the tokens and of the likeliest others", async () => {
    const answer = await client.chat.completions.create({ ...chat, logprobs: true, top_logprobs: 3 });
    const content = answer.choices[0]!.logprobs!.content!;
    expect(content).toHaveLength(12);
    for (const { logprob, top_logprobs } of content) {
      expect(top_logprobs).toHaveLength(3);
      expect(top_logprobs[0]!.logprob).toBe(logprob);
    }
    const stream = await client.chat.completions.create({ ...chat, logprobs: true, stream: true });
    const streamed = [];
    for await (const { choices } of stream) streamed.push(...(choices[0]?.logprobs?.content ?? []));
    expect(streamed.map(({ logprob }) => logprob)).toEqual(content.map(({ logprob }) => logprob));
  });

  it("ends at a stop text and heeds logit_bias", async () => {
    const { content } = (await client.chat.completions.create(chat)).choices[0]!.message;
    const stop = content!.slice(4, 6);
    const stopped = await client.chat.completions.create({ ...chat, stop });
    expect(stopped.choices[0]!.finish_reason).toBe("stop");
    expect(content!.startsWith(stopped.choices[0]!.message.content!)).toBe(true);
    expect(stopped.choices[0]!.message.content).not.toContain(stop);
    const forced = await client.completions.create({
      model: "tiny",
      prompt: "a",
      max_tokens: 3,
      logit_bias: { 70: 100 },
      logprobs: 0,
      temperature: 0,
    });
    expect(new Set(forced.choices[0]!.logprobs!.tokens).size).toBe(1);
  });

  it("echoes prompts with their log-probabilities, as evaluation harnesses ask for them", async () => {
    const prompt = [5, 77, 130, 9, 42];
    const { choices } = await client.completions.create({
      model: "tiny",
      prompt: [prompt, [8, 15, 99]],
      max_tokens: 1,
      logprobs: 1,
      echo: true,
      temperature: 0,
    });
    expect(choices.map(({ logprobs }) => logprobs!.tokens!.length)).toEqual([6, 4]);
    const { token_logprobs, top_logprobs, tokens, text_offset } = choices[0]!.logprobs!;
    expect(token_logprobs![0]).toBeNull();
    expect(top_logprobs![0]).toBeNull();
    expect(token_logprobs!.slice(1).every((value) => value < 0)).toBe(true);
    const shown = tokens!.map((token) => token.replace(/^bytes:.*/, "\uFFFD"));
    expect(shown.join("")).toBe(choices[0]!.text);
    expect(text_offset).toHaveLength(6);
    // Each is what the model would have said of it after the tokens before.
    const alone = await client.completions.create({
      model: "tiny",
      prompt: prompt.slice(0, 4),
      max_tokens: 1,
      logprobs: 0,
      temperature: 0,
      logit_bias: { [prompt[4]!]: 100 },
    });
    expect(alone.choices[0]!.logprobs!.token_logprobs![0]).toBe(token_logprobs![4]);
    const only = await client.completions.create({ model: "tiny", prompt, max_tokens: 0, logprobs: 1, echo: true });
    expect(only.choices[0]!.logprobs!.token_logprobs).toEqual(token_logprobs!.slice(0, 5));
    expect(only.usage!.completion_tokens).toBe(0);
  });

  it("streams completions", async () => {
    const request = { model: "tiny", prompt: "one two", max_tokens: 8, temperature: 0, ...{ ignore_eos: true } };
    const whole = await client.completions.create(request);
    let text = "";
    for await (const chunk of await client.completions.create({ ...request, stream: true, echo: true }))
      text += chunk.choices[0]?.text ?? "";
    expect(text).toBe(`one two${whole.choices[0]!.text}`);
  });

  it("answers by the responses API, streamed and whole", async () => {
    const request = {
      model: "tiny",
      input: "Hello!",
      instructions: "Be brief.",
      max_output_tokens: 16,
      temperature: 0,
    };
    const whole = await client.responses.create(request);
    expect(["completed", "incomplete"]).toContain(whole.status);
    expect(whole.output_text.length).toBeGreaterThan(0);
    const types: string[] = [];
    let text = "";
    let final: OpenAI.Responses.Response | undefined;
    let numbers = 0;
    for await (const event of await client.responses.create({ ...request, stream: true })) {
      expect(event.sequence_number).toBe(numbers++);
      if (!types.includes(event.type)) types.push(event.type);
      if (event.type === "response.output_text.delta") text += event.delta;
      if (event.type === "response.completed" || event.type === "response.incomplete") final = event.response;
    }
    expect(types.slice(0, 5)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
    ]);
    expect(text).toBe(whole.output_text);
    expect(final!.output[0]).toMatchObject({ type: "message", content: [{ type: "output_text", text }] });
    expect(final!.usage).toMatchObject({
      input_tokens: whole.usage!.input_tokens,
      output_tokens: whole.usage!.output_tokens,
    });
  });

  it("gives JSON by a schema, whatever the model would have said", async () => {
    const schema = {
      type: "object",
      properties: { city: { enum: ["Oslo", "Rome"] }, days: { type: "integer", minimum: 1, maximum: 9 } },
      required: ["city", "days"],
      additionalProperties: false,
    };
    const format = { type: "json_schema" as const, json_schema: { name: "trip", strict: true, schema } };
    for (const seed of [1, 2, 3]) {
      const { choices } = await client.chat.completions.create({
        model: "tiny",
        messages: hello,
        response_format: format,
        temperature: 1.5,
        seed,
      });
      expect(choices[0]!.finish_reason).toBe("stop");
      const { city, days, ...rest } = JSON.parse(choices[0]!.message.content!);
      expect(["Oslo", "Rome"]).toContain(city);
      expect([1, 2, 3, 4, 5, 6, 7, 8, 9]).toContain(days);
      expect(rest).toEqual({});
    }
    const text = { format: { type: "json_schema" as const, name: "trip", schema } };
    const response = await client.responses.create({ model: "tiny", input: "Hello!", text });
    expect(["Oslo", "Rome"]).toContain(JSON.parse(response.output_text).city);
    const wrong = { type: "json_schema" as const, json_schema: { name: "bad", schema: { type: "teapot" } } };
    await expect(
      client.chat.completions.create({ model: "tiny", messages: hello, response_format: wrong }),
    ).rejects.toMatchObject({ status: 400, code: "invalid_schema", param: "response_format" });
  });

  const parameters = {
    type: "object",
    properties: { city: { enum: ["Oslo", "Rome"] } },
    required: ["city"],
    additionalProperties: false,
  };
  const tools = ["weather", "time"].map((name) => ({ type: "function" as const, function: { name, parameters } }));

  it("calls tools where it must, several at once, and as named; streamed the same", async () => {
    const request = { model: "tiny", messages: hello, tools, temperature: 1.2, seed: 3 };
    const { choices } = await client.chat.completions.create({ ...request, tool_choice: "required" });
    expect(choices[0]!.finish_reason).toBe("tool_calls");
    expect(choices[0]!.message.content).toBeNull();
    const calls = choices[0]!.message.tool_calls! as OpenAI.ChatCompletionMessageFunctionToolCall[];
    for (const { id, type, function: called } of calls) {
      expect([type, typeof id]).toEqual(["function", "string"]);
      expect(["weather", "time"]).toContain(called.name);
      expect(["Oslo", "Rome"]).toContain(JSON.parse(called.arguments).city);
    }
    expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
    const streamed: { name: string; arguments: string }[] = [];
    const stream = await client.chat.completions.create({ ...request, tool_choice: "required", stream: true });
    for await (const { choices } of stream)
      for (const { index, function: delta } of choices[0]?.delta.tool_calls ?? []) {
        const call = (streamed[index] ??= { name: "", arguments: "" });
        call.name += delta?.name ?? "";
        call.arguments += delta?.arguments ?? "";
      }
    expect(streamed).toEqual(calls.map((call) => call.function));
    const named = await client.chat.completions.create({
      ...request,
      tool_choice: { type: "function", function: { name: "time" } },
    });
    expect(named.choices[0]!.message.tool_calls).toMatchObject([{ function: { name: "time" } }]);
    const one = await client.chat.completions.create({
      ...request,
      tool_choice: "required",
      parallel_tool_calls: false,
    });
    expect(one.choices[0]!.message.tool_calls).toHaveLength(1);
    const none = await client.chat.completions.create({ ...request, tool_choice: "none", max_tokens: 5 });
    expect(none.choices[0]!.message.tool_calls).toBeUndefined();
  });

  it("takes the results of tools", async () => {
    const call = { id: "call_1", type: "function" as const, function: { name: "time", arguments: '{"city":"Oslo"}' } };
    const answer = await client.chat.completions.create({
      ...chat,
      tools,
      messages: [
        ...hello,
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", tool_call_id: "call_1", content: "noon" },
      ],
    });
    expect(answer.choices[0]!.message.role).toBe("assistant");
  });

  it("calls functions by the responses API", async () => {
    const functions = tools.map(({ type, function: f }) => ({ type, ...f, strict: true }));
    const request = { model: "tiny", input: "Hello!", tools: functions, tool_choice: "required" as const };
    const events: string[] = [];
    let json = "";
    let final: OpenAI.Responses.Response | undefined;
    for await (const event of await client.responses.create({ ...request, stream: true, parallel_tool_calls: false })) {
      events.push(event.type);
      if (event.type === "response.function_call_arguments.delta") json += event.delta;
      if (event.type === "response.completed") final = event.response;
    }
    expect(final!.output).toMatchObject([{ type: "function_call", status: "completed", arguments: json }]);
    const call = final!.output[0] as OpenAI.Responses.ResponseFunctionToolCall;
    const next = await client.responses.create({
      model: "tiny",
      input: [
        { role: "user", content: "Hello!" },
        call,
        { type: "function_call_output", call_id: call.call_id, output: "noon" },
      ],
      max_output_tokens: 16,
    });
    expect(next.object).toBe("response");
    expect(events.filter((type) => type === "response.output_item.done")).toHaveLength(1);
  });

  it("embeds texts: unit vectors, the same by floats and by base64", async () => {
    const { data, usage } = await client.embeddings.create({ model: "tiny", input: ["one", "two three"] });
    expect(data.map(({ index }) => index)).toEqual([0, 1]);
    for (const { embedding } of data) expect(Math.hypot(...embedding)).toBeCloseTo(1, 5);
    expect(usage.prompt_tokens).toBeGreaterThan(1);
    const floats = await client.embeddings.create({ model: "tiny", input: "one", encoding_format: "float" });
    expect(Array.from(Float32Array.from(floats.data[0]!.embedding))).toEqual(Array.from(data[0]!.embedding));
  });

  it("lists and shows models", async () => {
    const ids = [];
    for await (const { id } of client.models.list()) ids.push(id);
    expect(ids).toEqual(["tiny"]);
    expect(await client.models.retrieve("tiny")).toMatchObject({ object: "model", owned_by: "halfbyte" });
  });

  it("throws the client's own errors, with stable codes", async () => {
    const refused = (body: object): Promise<unknown> =>
      client.chat.completions.create({ ...chat, ...body } as never).then(
        () => undefined,
        (error) => error,
      );
    const long = [{ role: "user", content: "word ".repeat(500) }];
    expect(await refused({ messages: long })).toMatchObject({
      status: 400,
      code: "context_length_exceeded",
      param: "messages",
      type: "invalid_request_error",
    });
    expect(await refused({ model: "gpt-5" })).toBeInstanceOf(OpenAI.NotFoundError);
    expect(await refused({ model: "gpt-5" })).toMatchObject({ code: "model_not_found" });
    expect(await refused({ temperature: "hot" })).toMatchObject({ code: "invalid_type", param: "temperature" });
    expect(await refused({ temperature: 2.5 })).toMatchObject({ code: "decimal_above_max_value" });
    expect(await refused({ n: 0 })).toMatchObject({ code: "integer_below_min_value", param: "n" });
    expect(await refused({ unheard_of: 1 })).toMatchObject({ code: "unknown_parameter", param: "unheard_of" });
    expect(await refused({ messages: undefined })).toMatchObject({ code: "missing_required_parameter" });
    expect(await refused({ messages: [{ role: "user", content: [{ type: "image_url" }] }] })).toMatchObject({
      code: "unsupported_content",
      param: "messages[0].content[0].type",
    });
    const stranger = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "wrong", maxRetries: 0 });
    await expect(stranger.models.list()).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
  });

  it("cancels a stream within a step when the client leaves", async () => {
    const endless = { ...chat, max_completion_tokens: 200, stream: true as const };
    const stream = await client.chat.completions.create(endless);
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    await until(() => model.stats.running === 0 && model.stats.waiting === 0);
    await until(() => model.stats.blocksInUse === 0);
    const abort = new AbortController();
    const pending = client.chat.completions.create({ ...endless, stream: false, n: 2 }, { signal: abort.signal });
    await until(() => model.stats.running > 0);
    abort.abort();
    await expect(pending).rejects.toBeInstanceOf(OpenAI.APIUserAbortError);
    await until(() => model.stats.running === 0 && model.stats.waiting === 0);
  });
});

const smollm2 = await smollm2Path();
describe.skipIf(!smollm2)("the openai client on SmolLM2 (needs the cached model)", () => {
  it("answers a question", async () => {
    await using model = await loadModel(smollm2!, { name: "smollm2" });
    await using server = await liveServer([model]);
    const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
    const messages = [{ role: "user" as const, content: "What does a CPU do?" }];
    const answer = await client.chat.completions.create({ model: "smollm2", messages, temperature: 0, max_tokens: 24 });
    expect(answer.choices[0]!.message.content).toMatch(/comput|process/i);
  });
});
