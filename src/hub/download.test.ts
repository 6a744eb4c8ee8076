import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FileServer, gitBlob, noise, sha256 } from "../../test/file-server.ts";
import { download } from "./download.ts";
import type { FileExpectation } from "./partial-file.ts";

const BYTES = noise(300_000);
const RIGHT: FileExpectation = { bytes: BYTES.length, sha256: sha256(BYTES) };

let folder: string;
let server: FileServer;
let target: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "halfbyte-download-"));
  server = await new FileServer().start();
  target = join(folder, "model.gguf");
});

afterEach(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const get = (expectation: FileExpectation = {}, path = "/model.gguf", more: object = {}) =>
  download({ url: server.url(path), target, expectation, ...more });

const nothingLeft = (): void => {
  expect(existsSync(target)).toBe(false);
  expect(existsSync(`${target}.partial`)).toBe(false);
  expect(existsSync(`${target}.partial.json`)).toBe(false);
};

describe("download", () => {
  it("gives the file its name only when it is whole, and reports bytes", async () => {
    server.file("/model.gguf", { bytes: BYTES, etag: '"a"' });
    const seen: number[] = [];
    const record = await get(RIGHT, "/model.gguf", {
      onBytes: (received: number, total: number) => {
        expect(total).toBe(BYTES.length);
        expect(existsSync(target)).toBe(false);
        seen.push(received);
      },
    });
    expect(record).toEqual({ name: "model.gguf", bytes: BYTES.length, sha256: RIGHT.sha256 });
    expect(seen.at(-1)).toBe(BYTES.length);
    expect(new Uint8Array(await readFile(target))).toEqual(BYTES);
    expect(existsSync(`${target}.partial`)).toBe(false);
  });

  it("goes on after cut connections with Range and If-Range", async () => {
    server.file("/model.gguf", { bytes: BYTES, etag: '"a"', cut: { afterBytes: 100_000, times: 2 } });
    expect(await get(RIGHT)).toMatchObject({ sha256: RIGHT.sha256 });
    expect(server.requests.map(({ headers }) => headers.range)).toEqual([undefined, "bytes=100000-", "bytes=200000-"]);
    expect(server.requests[1]?.headers["if-range"]).toBe('"a"');
  });

  it("goes on in a later call where an aborted one stopped", async () => {
    server.file("/model.gguf", { bytes: BYTES, etag: '"a"' });
    const stop = new AbortController();
    server.route("/model.gguf", (_, response) => {
      response.writeHead(200, { "content-length": BYTES.length, etag: '"a"' });
      response.write(BYTES.subarray(0, 100_000)); // and then silence
    });
    const onBytes = (received: number): void => {
      if (received === 100_000) stop.abort(new Error("enough"));
    };
    await expect(get(RIGHT, "/model.gguf", { signal: stop.signal, onBytes })).rejects.toThrow("enough");
    expect(existsSync(target)).toBe(false);
    server.file("/model.gguf", { bytes: BYTES, etag: '"a"' });
    expect(await get(RIGHT)).toMatchObject({ sha256: RIGHT.sha256 });
    expect(server.requests.at(-1)?.headers.range).toBe("bytes=100000-");
  });

  it("begins anew when the server's file has changed", async () => {
    const other = noise(300_000, 2);
    await writeFile(`${target}.partial`, other.subarray(0, 50_000));
    await saveState('"old"');
    server.file("/model.gguf", { bytes: BYTES, etag: '"new"' });
    expect(await get()).toMatchObject({ sha256: RIGHT.sha256 });
  });

  it("begins anew when the server knows no ranges", async () => {
    await writeFile(`${target}.partial`, BYTES.subarray(0, 50_000));
    await saveState('"a"');
    server.file("/model.gguf", { bytes: BYTES, etag: '"a"', ranges: false });
    expect(await get(RIGHT)).toMatchObject({ sha256: RIGHT.sha256 });
  });

  it("fetches again what an earlier try left damaged", async () => {
    await writeFile(`${target}.partial`, noise(50_000, 9));
    await saveState('"a"');
    server.file("/model.gguf", { bytes: BYTES, etag: '"a"' });
    expect(await get(RIGHT)).toMatchObject({ sha256: RIGHT.sha256 });
    expect(server.requests).toHaveLength(2);
  });

  it("needs no request for a part that is whole already", async () => {
    await writeFile(`${target}.partial`, BYTES);
    await saveState('"a"');
    expect(await get(RIGHT)).toMatchObject({ sha256: RIGHT.sha256 });
    expect(server.requests).toHaveLength(0);
  });

  it("never continues a part of another address or one without validator and hash", async () => {
    await writeFile(`${target}.partial`, noise(50_000, 9));
    await saveState('"a"', "http://127.0.0.1/elsewhere");
    server.file("/model.gguf", { bytes: BYTES });
    expect(await get()).toMatchObject({ sha256: RIGHT.sha256 });
    expect(server.requests[0]?.headers.range).toBeUndefined();
  });

  it("throws ERR_HASH and keeps nothing when the hash is wrong", async () => {
    server.file("/model.gguf", { bytes: noise(300_000, 3), etag: '"a"' });
    await expect(get(RIGHT)).rejects.toMatchObject({ code: "ERR_HASH", expected: RIGHT.sha256 });
    nothingLeft();
  });

  it("checks a small file by its git id", async () => {
    server.file("/model.gguf", { bytes: BYTES });
    expect(await get({ bytes: BYTES.length, gitBlob: gitBlob(BYTES) })).toMatchObject({ sha256: RIGHT.sha256 });
    server.file("/model.gguf", { bytes: noise(300_000, 3) });
    const wrong = get({ bytes: BYTES.length, gitBlob: gitBlob(BYTES) });
    await expect(wrong).rejects.toMatchObject({ code: "ERR_HASH" });
  });

  it("throws ERR_HASH before a byte is read when the server states another size", async () => {
    server.file("/model.gguf", { bytes: BYTES.subarray(0, 1000) });
    await expect(get(RIGHT)).rejects.toMatchObject({ code: "ERR_HASH", got: "1000" });
    nothingLeft();
  });

  it("throws ERR_HASH when more bytes come than there should be", async () => {
    server.route("/model.gguf", (_, response) => response.end(BYTES)); // chunked: no size stated
    await expect(get({ bytes: 1000 })).rejects.toMatchObject({ code: "ERR_HASH" });
    nothingLeft();
  });

  it("throws ERR_LIMIT for a size that no model has, ERR_IO for one that the disk has not", async () => {
    server.file("/model.gguf", { bytes: BYTES, statedLength: 2 ** 50 });
    await expect(get()).rejects.toMatchObject({ code: "ERR_LIMIT" });
    server.file("/model.gguf", { bytes: BYTES, statedLength: 4 * 1024 ** 4 });
    await expect(get()).rejects.toMatchObject({ code: "ERR_IO" });
    nothingLeft();
  });

  it("refuses a range that was not asked for", async () => {
    await writeFile(`${target}.partial`, BYTES.subarray(0, 50_000));
    await saveState('"a"');
    server.route("/model.gguf", (_, response) => {
      response
        .writeHead(206, { "content-range": `bytes 10-${BYTES.length - 1}/${BYTES.length}` })
        .end(BYTES.subarray(10));
    });
    await expect(get(RIGHT)).rejects.toMatchObject({ code: "ERR_NETWORK" });
  });

  it("gives up on a connection that is cut again and again without a byte, and keeps the part", async () => {
    server.file("/model.gguf", { bytes: BYTES, etag: '"a"', cut: { afterBytes: 100_000, times: 1 } });
    let asked = 0;
    const cut = server.requests;
    const first = get(RIGHT, "/model.gguf", {
      onBytes: (received: number) => {
        if (received === 100_000 && asked++ === 0) server.route("/model.gguf", (_, response) => response.destroy());
      },
    });
    await expect(first).rejects.toMatchObject({ code: "ERR_NETWORK" });
    expect(cut.length).toBe(5);
    expect((await readFile(`${target}.partial`)).length).toBe(100_000);
  });

  it.each([
    [401, /HF_TOKEN/],
    [403, /terms/],
    [404, /name/],
    [500, /later/],
  ])("throws ERR_NETWORK at once for status %i, with a remedy", async (status, remedy) => {
    server.route("/model.gguf", (_, response) => response.writeHead(status).end("secret detail"));
    await expect(get()).rejects.toMatchObject({ code: "ERR_NETWORK", remedy: expect.stringMatching(remedy) });
    expect(server.requests).toHaveLength(1);
    nothingLeft();
  });

  it("waits as a busy server asks, but not for long", async () => {
    let busy = true;
    server.file("/after", { bytes: BYTES });
    server.route("/model.gguf", (_, response) => {
      if (busy) response.writeHead(429, { "retry-after": "1" }).end();
      else response.writeHead(302, { location: "/after" }).end();
      busy = false;
    });
    const started = performance.now();
    expect(await get(RIGHT)).toMatchObject({ sha256: RIGHT.sha256 });
    expect(performance.now() - started).toBeGreaterThan(900);
    server.route("/later", (_, response) => response.writeHead(429, { "retry-after": "3600" }).end());
    await expect(get(RIGHT, "/later")).rejects.toMatchObject({ remedy: "try again in 3600 s" });
  });

  it("sends the token to the first origin only", async () => {
    const other = await new FileServer().start();
    other.file("/elsewhere", { bytes: BYTES });
    server.route("/model.gguf", (_, response) => response.writeHead(302, { location: "/again" }).end());
    server.route("/again", (_, response) => {
      response.writeHead(307, { location: `${other.origin}/elsewhere` }).end();
    });
    await get(RIGHT, "/model.gguf", { authorization: "Bearer secret" });
    await other.stop();
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(["Bearer secret", "Bearer secret"]);
    expect(other.requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });

  it.each(["/model.gguf", "file:///etc/passwd", "ftp://127.0.0.1/x", "http://["])(
    "follows no redirect to %s",
    async (location) => {
      server.route("/model.gguf", (_, response) => response.writeHead(302, { location }).end());
      await expect(get()).rejects.toMatchObject({ code: "ERR_NETWORK" });
    },
  );

  it("fails fast when nothing listens, and when nothing answers", async () => {
    const closed = await new FileServer().start();
    const { origin } = closed;
    await closed.stop();
    const refused = download({ url: new URL(`${origin}/x.gguf`), target, expectation: {} });
    await expect(refused).rejects.toMatchObject({ code: "ERR_NETWORK", message: expect.stringContaining("refused") });
    nothingLeft();
  });

  it("ends at once when it is aborted while the server is silent", async () => {
    server.route("/model.gguf", () => {});
    const started = performance.now();
    await expect(get({}, "/model.gguf", { signal: AbortSignal.timeout(100) })).rejects.toThrow(/timeout/i);
    expect(performance.now() - started).toBeLessThan(2000);
  });

  it("throws ERR_IO where it may not write", async () => {
    server.file("/model.gguf", { bytes: BYTES });
    await writeFile(join(folder, "blocked"), "");
    const blocked = download({
      url: server.url("/model.gguf"),
      target: join(folder, "blocked", "x.gguf"),
      expectation: {},
    });
    await expect(blocked).rejects.toMatchObject({ code: "ERR_IO", remedy: expect.stringContaining("HALFBYTE_CACHE") });
  });
});

async function saveState(validator: string, address: string = server.url("/model.gguf").href): Promise<void> {
  const key = sha256(new TextEncoder().encode(address));
  await writeFile(`${target}.partial.json`, JSON.stringify({ key, validator }));
}
