import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { halfbyte, isBuilt, MAIN, TINY_MODEL } from "../e2e/command.ts";
import { until } from "./live-server.ts";

const title = isBuilt ? "halfbyte serve" : "halfbyte serve (skipped: npm run build makes it)";

interface Served {
  readonly url: string;
  readonly process: ChildProcess;
  readonly stdout: () => string;
  readonly log: () => string;
  readonly ended: Promise<number | null>;
}

async function serve(args: readonly string[], environment: Record<string, string> = {}): Promise<Served> {
  const child = spawn(
    process.execPath,
    [MAIN, "serve", ...args, "--port", "0", "--executor", "wasm", "--log", "json"],
    {
      env: { ...process.env, HALFBYTE_API_KEY: "", ...environment },
    },
  );
  let stdout = "";
  let log = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  const ended = once(child, "close").then(([code]) => code as number | null);
  await Promise.race([until(() => stdout.includes("curl ")), ended]);
  const url = /http:\/\/\S+?(?=;)/.exec(stdout)?.[0];
  if (!url) throw new Error(`did not start: ${log}`);
  return { url, process: child, stdout: () => stdout, log: () => log, ended };
}

describe.skipIf(!isBuilt)(title, () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "halfbyte-serve-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  const complete = (url: string, fields: object, signal?: AbortSignal): Promise<Response> =>
    fetch(`${url}/v1/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "tiny", prompt: "Hi", temperature: 0, ignore_eos: true, ...fields }),
      ...(signal && { signal }),
    });
  const tiny = `tiny=${TINY_MODEL}`;

  it("says its address and how to call it; SIGTERM under load lets every answer end, and the exit code is 0", async () => {
    const server = await serve([tiny]);
    expect(server.stdout()).toContain(`curl ${server.url}/v1/chat/completions`);
    const responses = await Promise.all([
      ...Array.from({ length: 6 }, () => complete(server.url, { max_tokens: 150, stream: true })),
      ...Array.from({ length: 3 }, () => complete(server.url, { max_tokens: 1 })),
    ]);
    server.process.kill("SIGTERM");
    await until(() => server.log().includes("stopping"));
    const texts = await Promise.all(responses.map((response) => response.text()));
    for (const text of texts.slice(0, 6)) {
      expect(text.trimEnd().endsWith("data: [DONE]")).toBe(true);
      expect(text).toContain('"finish_reason":"length"');
    }
    const late = await complete(server.url, { max_tokens: 1 }).then(
      ({ status }) => status,
      () => "no connection",
    );
    expect([503, "no connection"]).toContain(late);
    expect(await server.ended).toBe(0);
  });

  it("ends at once at the second signal", async () => {
    const server = await serve([tiny]);
    // More than what lies between them holds, and nobody reads it: it cannot end by itself.
    const response = await complete(server.url, { max_tokens: 240, n: 16, logprobs: 20, stream: true });
    server.process.kill("SIGTERM");
    await until(() => server.log().includes("stopping"));
    server.process.kill("SIGTERM");
    expect(await server.ended).toBe(130);
    await response.body!.cancel().catch(() => {});
  });

  it("ends answers that take longer than --drain", async () => {
    const server = await serve([tiny, "--drain", "0"]);
    const response = await complete(server.url, { max_tokens: 250, n: 16, stream: true });
    server.process.kill("SIGTERM");
    expect(await response.text()).toMatch(/"code":"stopping"\}\}\n\n$/);
    expect(await server.ended).toBe(0);
  });

  it("says why a model does not load, and what of its options cannot work", async () => {
    const broken = join(folder, "broken.gguf");
    await writeFile(broken, "this is no model");
    const start = (...args: string[]): ReturnType<typeof halfbyte> =>
      halfbyte(["serve", "--port", "0", "--executor", "wasm", "--log", "json", ...args]);
    const failed = await start(broken);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toMatch(
      /"message":"model not loaded".*\n.*error \[ERR_(?!UNKNOWN_MODEL)\w+\]: .*broken\.gguf/,
    );
    const long = await start(tiny, "--context", "99999999");
    expect([long.code, long.stderr]).toEqual([2, expect.stringMatching(/error \[ERR_ARGUMENT\].*got 99999999/)]);
    for (const [option, value] of [
      ["--cors", "notanorigin"],
      ["--port", "99999"],
      ["--api-key", ","],
      ["--api-key", ""],
    ] as const) {
      const { code, stderr } = await start(tiny, option, value);
      expect([code, stderr]).toEqual([2, expect.stringContaining(option)]);
    }
  });

  it("answers on when a model's file changes, and says so when it can no longer be loaded", async () => {
    const path = join(folder, "changing.gguf");
    await copyFile(TINY_MODEL, path);
    const server = await serve([tiny, `changing=${path}`]);
    const ask = async (model: string): Promise<string> =>
      (await complete(server.url, { model, max_tokens: 20 })).text();
    const textOf = (body: string): string => JSON.parse(body).choices[0].text;
    const before = textOf(await ask("changing"));
    await writeFile(path, "this is no model any more");
    expect(textOf(await ask("changing"))).toBe(before);
    const unloaded = await fetch(`${server.url}/models/unload`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"model":"changing"}',
    });
    expect(await unloaded.json()).toEqual({ model: "changing", state: "unloaded" });
    const failed = await ask("changing");
    expect(JSON.parse(failed).error).toMatchObject({ type: "server_error", code: "model_load_failed" });
    expect(failed).not.toContain(folder);
    expect(server.log()).toContain("changing.gguf");
    expect(textOf(await ask("tiny"))).toBe(before);
    await copyFile(TINY_MODEL, path);
    expect(textOf(await ask("changing"))).toBe(before);
    server.process.kill("SIGTERM");
    expect(await server.ended).toBe(0);
  });

  it("needs a key for any address but loopback, and takes it from the environment", async () => {
    const refused = await halfbyte(["serve", tiny, "--host", "0.0.0.0"], { environment: { HALFBYTE_API_KEY: "" } });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/--api-key.*--without-key/);
    const server = await serve([tiny], { HALFBYTE_API_KEY: "k1,k2" });
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(`${server.url}/v1/models`, { headers })).status;
    expect(await status({})).toBe(401);
    expect(await status({ authorization: "Bearer k3" })).toBe(401);
    expect(await status({ authorization: "Bearer k1" })).toBe(200);
    expect(await status({ "x-api-key": "k2" })).toBe(200);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    server.process.kill("SIGINT");
    expect(await server.ended).toBe(0);
  });

  it("says which port is taken", async () => {
    const server = await serve([tiny]);
    const { port } = new URL(server.url);
    const second = await halfbyte(["serve", tiny, "--port", port, "--executor", "wasm"]);
    expect(second.code).toBe(1);
    expect(second.stderr).toMatch(/cannot listen.*EADDRINUSE/);
    server.process.kill("SIGTERM");
    await server.ended;
  });
});
