import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Model } from "../../src/index.ts";
import { type App, createApp } from "../../src/server/index.ts";
import { loadTiny, loadTinyWithoutTools, until } from "./live-server.ts";

describe("the app, without a socket", () => {
  let model: Model;
  let app: App;
  beforeAll(async () => {
    model = await loadTiny();
    app = createApp(model);
  });
  afterAll(() => model.dispose());

  const post = (to: App, path: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
    Promise.resolve(
      to.request(path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      }),
    );
  const codeOf = async (response: Response): Promise<string> =>
    ((await response.json()) as { error: { code: string } }).error.code;

  it("shows a model that was given to it as loaded, from the start", async () => {
    const { data } = (await (await createApp(model).request("/v1/models")).json()) as { data: object[] };
    expect(data).toMatchObject([{ id: "tiny", state: "loaded", max_model_len: 256 }]);
  });

  it("passes a request's id on, or makes one", async () => {
    const given = await app.request("/health", { headers: { "x-request-id": "mine-1" } });
    expect(given.headers.get("x-request-id")).toBe("mine-1");
    for (const bad of ["", "two words", "x".repeat(200)]) {
      const made = await app.request("/health", { headers: { "x-request-id": bad } });
      expect(made.headers.get("x-request-id")).toMatch(/^req_[0-9a-f]{32}$/);
    }
  });

  it("knows its paths and their methods", async () => {
    expect(await codeOf(await app.request("/v1/nothing"))).toBe("unknown_url");
    const wrong = await app.request("/v1/chat/completions");
    expect([wrong.status, wrong.headers.get("allow"), await codeOf(wrong)]).toEqual([
      405,
      "POST",
      "method_not_allowed",
    ]);
    expect((await app.request("/v1/models/tiny", { method: "DELETE" })).status).toBe(405);
    expect((await app.request("/v1/models/no%ne")).status).toBe(404);
  });

  it("describes itself for programs, and for people without scripts", async () => {
    const description = (await (await app.request("/openapi.json")).json()) as { paths: object };
    expect(Object.keys(description.paths)).toEqual(
      expect.arrayContaining(["/v1/chat/completions", "/v1/messages", "/v1/models/{model}", "/metrics"]),
    );
    const page = await app.request("/docs");
    expect(page.headers.get("content-type")).toMatch(/^text\/html/);
    const html = await page.text();
    expect(html).toContain("/v1/responses");
    expect(html).not.toMatch(/<script|https?:\/\/(?!json-schema)/);
  });

  it("has CORS off, and on for origins that are named", async () => {
    const origin = "https://page.example";
    expect((await app.request("/v1/models", { headers: { origin } })).status).toBe(403);
    const open = createApp(model, { corsOrigins: [origin], apiKeys: ["key"] });
    const preflight = await open.request("/v1/chat/completions", {
      method: "OPTIONS",
      headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "authorization" },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-origin")).toBe(origin);
    expect(preflight.headers.get("access-control-allow-headers")).toBe("authorization");
    const answer = await open.request("/v1/models", { headers: { origin, authorization: "Bearer key" } });
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([200, origin]);
    expect((await open.request("/v1/models", { headers: { origin: "https://other.example" } })).status).toBe(403);
  });

  it("counts and times in vLLM's names", async () => {
    const prompt = Array.from({ length: 64 }, (_, id) => id + 10);
    const request = { model: "tiny", prompt, max_tokens: 5, ignore_eos: true };
    const metered = createApp(model);
    await (await post(metered, "/v1/completions", request)).json();
    // Those from the cache count.
    await (await post(metered, "/v1/completions", { ...request, max_tokens: 0, echo: true, logprobs: 0 })).json();
    await (await post(metered, "/v1/completions", { ...request, stream: true })).text();
    const text = await (await metered.request("/metrics")).text();
    for (const line of [
      'vllm:request_success_total{model_name="tiny",finished_reason="length"} 3',
      'vllm:prompt_tokens_total{model_name="tiny"} 192',
      'vllm:generation_tokens_total{model_name="tiny"} 10',
      'vllm:time_to_first_token_seconds_count{model_name="tiny"} 2',
      'halfbyte_http_responses_total{method="POST",route="/v1/completions",status="200"} 3',
    ])
      expect(text).toContain(`${line}\n`);
    for (const line of text.trim().split("\n"))
      expect(line).toMatch(/^(# (HELP|TYPE) \S+ .+|[a-z0-9_:]+(\{.*\})? [-+\d.eNaInf]+)$/);
  });

  it("ends what takes too long", async () => {
    const hasty = createApp(model, { timeoutMs: 1 });
    const request = { model: "tiny", prompt: "Hi", max_tokens: 250, ignore_eos: true };
    const late = await post(hasty, "/v1/completions", request);
    expect([late.status, await codeOf(late)]).toEqual([504, "deadline_exceeded"]);
    const stream = await post(hasty, "/v1/completions", { ...request, stream: true });
    expect(stream.status).toBe(200);
    expect(await stream.text()).toMatch(/"code":"deadline_exceeded"\}\}\n\n$/);
    const message = { model: "tiny", messages: [{ role: "user", content: "Hi" }], max_tokens: 200 };
    const events = await (await post(hasty, "/v1/messages", { ...message, stream: true })).text();
    expect(events).toMatch(/event: error\ndata: \{"type":"error","error":\{"type":"timeout_error"/);
  });

  it("ends streams with an error when their model is disposed", async () => {
    const short = await loadTiny();
    const request = { model: "tiny", prompt: "Hi", max_tokens: 250, ignore_eos: true, stream: true };
    const stream = await post(createApp(short), "/v1/completions", request);
    await short.dispose();
    expect(await stream.text()).toContain('"code":"model_unloaded"');
  });

  it("tells those it cuts off when it stops that it stops, in each API's shape", async () => {
    const stop = new AbortController();
    const stopped = createApp(model, { stop: stop.signal });
    const messages = [{ role: "user", content: "Hi" }];
    const asked = { model: "tiny", messages, max_tokens: 200, temperature: 0 };
    const endless = { model: "tiny", prompt: "Hi", max_tokens: 250, ignore_eos: true };
    const streams = await Promise.all([
      post(stopped, "/v1/completions", { ...endless, stream: true }),
      post(stopped, "/v1/chat/completions", { ...asked, ignore_eos: true, stream: true }),
      post(stopped, "/v1/messages", { ...asked, stream: true }),
      post(stopped, "/v1/responses", { model: "tiny", input: "Hi", max_output_tokens: 200, stream: true }),
    ]);
    const whole = post(stopped, "/v1/completions", endless);
    await until(() => model.stats.running + model.stats.waiting === 5);
    stop.abort();
    const lastEvents = await Promise.all(
      streams.map(async (stream) => (await stream.text()).trimEnd().split("\n\n").at(-1)!),
    );
    for (const last of lastEvents) expect(last).toContain('"code":"stopping"');
    expect(lastEvents[0]).toMatch(/^data: \{"error":/);
    expect(lastEvents[2]).toMatch(/^event: error\ndata: \{"type":"error","error":\{"type":"overloaded_error"/);
    expect(lastEvents[3]).toMatch(/^event: error\n/);
    const refused = await whole;
    expect([refused.status, await codeOf(refused)]).toEqual([503, "stopping"]);
  });

  it("streams the log-probabilities of an echo before those of what follows", async () => {
    const asked = {
      model: "tiny",
      prompt: ["Hi", "Hello"],
      max_tokens: 3,
      temperature: 0,
      ignore_eos: true,
      echo: true,
      logprobs: 1,
    };
    for (const max_tokens of [3, 0]) {
      type Body = { choices: { index: number; text: string; logprobs: Record<string, unknown[]> | null }[] };
      const whole = (await (await post(app, "/v1/completions", { ...asked, max_tokens })).json()) as Body;
      const stream = await (await post(app, "/v1/completions", { ...asked, max_tokens, stream: true })).text();
      const chunks = stream
        .split("\n\n")
        .filter((line) => line.startsWith("data: {"))
        .flatMap((line) => (JSON.parse(line.slice(6)) as Body).choices);
      for (const { index, text, logprobs } of whole.choices) {
        const own = chunks.filter((each) => each.index === index);
        expect(own.map((each) => each.text).join("")).toBe(text);
        for (const [name, values] of Object.entries(logprobs!))
          expect(own.flatMap((each) => each.logprobs?.[name] ?? [])).toEqual(values);
      }
    }
  });

  it("names the field that is wrong", async () => {
    const chat = { model: "tiny", messages: [{ role: "user", content: "Hi" }], max_tokens: 1 };
    const text = { model: "tiny", prompt: "Hi", max_tokens: 1 };
    const teapot = { type: "teapot" };
    for (const [path, body, param] of [
      ["chat/completions", { ...chat, logit_bias: { 99999: 1 } }, "logit_bias"],
      ["chat/completions", { ...chat, structured_outputs: { regex: "(" } }, "structured_outputs.regex"],
      ["chat/completions", { ...chat, structured_outputs: { json: teapot } }, "structured_outputs.json"],
      [
        "chat/completions",
        {
          ...chat,
          tools: [{ type: "function", function: { name: "f", parameters: teapot } }],
          tool_choice: "required",
        },
        "tools[0]",
      ],
      [
        "responses",
        { model: "tiny", input: "Hi", text: { format: { type: "json_schema", name: "f", schema: teapot } } },
        "text.format",
      ],
      ["messages", { ...chat, output_config: { format: { type: "json_schema", schema: teapot } } }, undefined],
      ["completions", { ...text, prompt: ["Hi", 5] }, "prompt[1]"],
      ["completions", { ...text, prompt: [[5], [5, 99999]] }, "prompt[1][1]"],
      ["completions", { ...text, prompt: ["Hi", "x".repeat(2000)] }, "prompt[1]"],
      ["completions", { ...text, prompt: [5, 99999] }, "prompt[1]"],
    ] as const) {
      const response = await post(app, `/v1/${path}`, body);
      const { error } = (await response.json()) as { error: { param?: string } };
      expect([response.status, error.param]).toEqual([400, param]);
    }
  });

  it("tells tokens and texts of each other", async () => {
    const body = { model: "tiny", prompt: "Hello!", add_special_tokens: false };
    const { tokens, count } = (await (await post(app, "/tokenize", body)).json()) as {
      tokens: number[];
      count: number;
    };
    expect(tokens).toHaveLength(count);
    expect(await (await post(app, "/detokenize", { model: "tiny", tokens })).json()).toEqual({ prompt: "Hello!" });
    const chat = { model: "tiny", messages: [{ role: "user", content: "Hello!" }], return_token_strs: true };
    const { token_strs } = (await (await post(app, "/tokenize", chat)).json()) as { token_strs: string[] };
    expect(token_strs.join("")).toContain("Hello!");
    const tools = [{ type: "function", function: { name: "weather" } }];
    const strings = async (to: App): Promise<string> =>
      ((await (await post(to, "/tokenize", { ...chat, tools })).json()) as { token_strs: string[] }).token_strs.join(
        "",
      );
    expect(await strings(app)).toMatch(/^weather <\|im_start\|>user/);
    const own = await loadTinyWithoutTools();
    expect(await strings(createApp(own))).toMatch(/^<\|im_start\|>system\nYou can call .*\n\{"name":"weather"\}\n/);
    const asked = { model: "tiny", messages: chat.messages, tools, tool_choice: "required", temperature: 0 };
    const called = (await (await post(createApp(own), "/v1/chat/completions", asked)).json()) as {
      choices: { message: { tool_calls: { function: { name: string } }[] } }[];
    };
    expect(called.choices[0]!.message.tool_calls[0]!.function.name).toBe("weather");
    await own.dispose();
    const misspelt = (await (await post(app, "/tokenize", { ...chat, tols: [] })).json()) as object;
    expect(misspelt).toMatchObject({ error: { code: "unknown_parameter", param: "tols" } });
    const unknown = await post(app, "/detokenize", { model: "tiny", tokens: [99_999] });
    expect([unknown.status, await codeOf(unknown)]).toEqual([400, "invalid_value"]);
  });
});
