import { createConnection, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Model } from "../../src/index.ts";
import { type LiveServer, liveServer, loadTiny, until } from "./live-server.ts";

const endless = { ignore_eos: true, temperature: 0 };

describe("a server in trouble lives, and answers others", () => {
  let model: Model;
  let server: LiveServer;
  const logged: { level: string; message: string; fields: Record<string, unknown> }[] = [];
  beforeAll(async () => {
    model = await loadTiny();
    server = await liveServer([model], {
      stallMs: 200,
      log: (level, message, fields = {}) => logged.push({ level, message, fields }),
    });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await model.dispose();
  });

  const post = (path: string, body: BodyInit, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(server.url + path, { method: "POST", body, headers: { "content-type": "application/json", ...headers } });
  const chat = (fields: object = {}): Promise<Response> =>
    post(
      "/v1/chat/completions",
      JSON.stringify({ model: "tiny", messages: [{ role: "user", content: "Hi" }], ...fields }),
    );
  const codeOf = async (response: Response): Promise<string> =>
    ((await response.json()) as { error: { code: string } }).error.code;
  const answersOthers = async (): Promise<void> => {
    const response = await chat({ max_tokens: 2, ...endless });
    expect(response.status).toBe(200);
    await response.json();
  };
  const isIdle = (): boolean => model.stats.running + model.stats.waiting + model.stats.blocksInUse === 0;

  it("a client that goes in the middle of a stream", async () => {
    const abort = new AbortController();
    const body = JSON.stringify({ model: "tiny", prompt: "Hi", max_tokens: 200, stream: true, ...endless });
    const response = await fetch(`${server.url}/v1/completions`, {
      method: "POST",
      body,
      headers: { "content-type": "application/json" },
      signal: abort.signal,
    });
    await response.body!.getReader().read();
    abort.abort();
    await until(isIdle);
    await until(() => logged.some(({ fields }) => fields.cancelled !== undefined));
    await answersOthers();
  });

  it("a client that goes before its answer is there, and while it waits", async () => {
    const aborts = Array.from({ length: 20 }, () => new AbortController());
    const requests = aborts.map(({ signal }) =>
      fetch(`${server.url}/v1/completions`, {
        method: "POST",
        body: JSON.stringify({ model: "tiny", prompt: "Hi", max_tokens: 200, ...endless }),
        headers: { "content-type": "application/json" },
        signal,
      }).catch(() => undefined),
    );
    await until(() => model.stats.running > 0 && model.stats.waiting > 0);
    const before = logged.length;
    for (const abort of aborts) abort.abort();
    await Promise.all(requests);
    await until(isIdle);
    const gone = (): typeof logged => logged.slice(before).filter(({ fields }) => fields.cancelled !== undefined);
    await until(() => gone().length > 0);
    for (const { level, fields } of gone()) expect([level, fields.status]).toEqual(["info", 499]);
    await answersOthers();
  });

  it("a client that does not read: it is given up, and nothing is kept for it", async () => {
    const body = JSON.stringify({
      model: "tiny",
      prompt: Array.from({ length: 64 }, () => "Hi"),
      max_tokens: 200,
      logprobs: 20,
      stream: true,
      ...endless,
    });
    const socket = rawRequest(server.url, `POST /v1/completions HTTP/1.1\r\n${jsonHeaders(body)}\r\n${body}`);
    socket.pause();
    const before = logged.length;
    await until(() => model.stats.running > 0);
    await until(isIdle);
    await until(() => logged.slice(before).some(({ fields }) => fields.cancelled !== undefined));
    socket.destroy();
    await answersOthers();
  });

  it("garbage in place of HTTP", async () => {
    const answer = await converse(rawRequest(server.url, "\x00\x01\x02 garbage\r\n\r\n"));
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('"code":"bad_request"');
    await answersOthers();
  });

  it("a body of 100 MB, with its length said before and without", async () => {
    const said = await post("/v1/completions", new Uint8Array(100_000_000)).catch((error) => error);
    if (said instanceof Response) expect([said.status, await codeOf(said)]).toEqual([413, "request_too_large"]);
    let sent = 0;
    const endlessBody = new ReadableStream({
      pull(controller) {
        sent += 1_000_000;
        if (sent > 100_000_000) controller.close();
        else controller.enqueue(new Uint8Array(1_000_000));
      },
    });
    const streamed = await fetch(`${server.url}/v1/completions`, {
      method: "POST",
      body: endlessBody,
      headers: { "content-type": "application/json" },
      duplex: "half",
    } as RequestInit).catch((error) => error);
    if (streamed instanceof Response) expect(streamed.status).toBe(413);
    expect(sent).toBeLessThan(100_000_000);
    await answersOthers();
  });

  it("10,000 headers", async () => {
    const headers = Array.from({ length: 10_000 }, (_, i) => `x-header-${i}: value\r\n`).join("");
    const answer = await converse(rawRequest(server.url, `GET /health HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`));
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
    await answersOthers();
  });

  it("bad UTF-8, bad JSON, another content type, nesting without end", async () => {
    const bad = Uint8Array.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]);
    expect(await codeOf(await post("/v1/chat/completions", bad))).toBe("invalid_json");
    expect(await codeOf(await post("/v1/chat/completions", '{"model":'))).toBe("invalid_json");
    expect(await codeOf(await post("/v1/chat/completions", "[".repeat(100_000) + "]".repeat(100_000)))).toBe(
      "invalid_json",
    );
    const deep = `{"model":"tiny","metadata":${'{"a":'.repeat(5000)}1${"}".repeat(5000)}}`;
    expect(await codeOf(await post("/v1/chat/completions", deep))).toBe("invalid_json");
    const plain = await post("/v1/chat/completions", "{}", { "content-type": "text/plain" });
    expect([plain.status, await codeOf(plain)]).toEqual([415, "unsupported_media_type"]);
    await answersOthers();
  });

  it("a name that is not this machine's, and a page of another origin", async () => {
    const head = "GET /v1/models HTTP/1.1\r\nConnection: close\r\n";
    expect(await converse(rawRequest(server.url, `${head}Host: rebound.example\r\n\r\n`))).toMatch(/^HTTP\/1\.1 403 /);
    expect(await converse(rawRequest(server.url, `${head}Host: localhost:1\r\n\r\n`))).toMatch(/^HTTP\/1\.1 200 /);
    const origin = "Origin: http://page.example";
    expect(await converse(rawRequest(server.url, `${head}Host: localhost\r\n${origin}\r\n\r\n`))).toMatch(
      /^HTTP\/1\.1 403 /,
    );
  });

  it("no path and no stack is in any error, and each is in the log", async () => {
    const response = await chat({ messages: [{ role: "tool", content: "x", tool_call_id: "y" }], max_tokens: 1 });
    const text = await response.text();
    expect(text).not.toMatch(/\/src\/|\.ts|at .*\(/);
    const id = response.headers.get("x-request-id");
    await until(() => logged.some(({ fields }) => fields.request === id));
  });
});

describe("a server without room", () => {
  it("refuses what does not fit the queue by 429 and Retry-After, and answers what waits", async () => {
    await using model = await loadTiny({ maxSequences: 1, maxWaiting: 2 });
    await using server = await liveServer([model]);
    const ask = (): Promise<Response> =>
      fetch(`${server.url}/v1/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ model: "tiny", prompt: "Hi", max_tokens: 40, ...endless }),
      });
    const responses = await Promise.all(Array.from({ length: 12 }, ask));
    const statuses = responses.map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(3);
    const refused = responses.find(({ status }) => status === 429)!;
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(await refused.json()).toMatchObject({ error: { type: "rate_limit_error", code: "queue_full" } });
    for (const response of responses) if (response.status === 200) await response.json();
    expect((await ask()).status).toBe(200);
  });

  it("with cache memory for one context answers many, one after the other where it must", async () => {
    await using model = await loadTiny({ cacheTokens: 256 });
    await using server = await liveServer([model]);
    const ask = async (i: number): Promise<string> => {
      const response = await fetch(`${server.url}/v1/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ model: "tiny", prompt: [i + 5, 7, 9], max_tokens: 120, ...endless }),
      });
      expect(response.status).toBe(200);
      return ((await response.json()) as { choices: { text: string }[] }).choices[0]!.text;
    };
    const together = await Promise.all(Array.from({ length: 8 }, (_, i) => ask(i)));
    expect(await ask(0)).toBe(together[0]);
    expect(await ask(7)).toBe(together[7]);
  });
});

function jsonHeaders(body: string): string {
  return `Host: localhost\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
}

function rawRequest(url: string, text: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = createConnection(Number(port), hostname);
  socket.on("error", () => {}); // the server may close before it has read all
  socket.write(text);
  return socket;
}

async function converse(socket: Socket): Promise<string> {
  let text = "";
  for await (const chunk of socket.setEncoding("utf8")) {
    text += chunk;
    if (text.includes("\r\n\r\n")) break;
  }
  return text;
}
