import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { readBytes } from "./byte-source.ts";
import { type HttpSourceOptions, openHttpSource } from "./http-source.ts";

const SIZE = 100_000;
const bytes = Uint8Array.from({ length: SIZE }, (_, i) => (i * 7919) >> 5);
const options: HttpSourceOptions = { retryDelayMs: 1 };

let server: Server;
let url: string;
let requests: IncomingMessage[];
/** What this test's server does in place of answering well; true when it has answered. */
let misbehave: (request: IncomingMessage, response: ServerResponse) => boolean;

/** An answer to the request's range, with headers of the test's choice. */
function answer(
  request: IncomingMessage,
  response: ServerResponse,
  headers: Record<string, string> = {},
  status = 206,
): void {
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "")!;
  const body = bytes.subarray(Number(first), Number(last) + 1);
  response.writeHead(status, {
    "content-range": `bytes ${first}-${last}/${SIZE}`,
    "content-length": body.byteLength,
    etag: '"one"',
    "last-modified": "Mon, 01 Jan 2024 00:00:00 GMT",
    ...headers,
  });
  response.end(body);
}

beforeAll(async () => {
  server = createServer((request, response) => {
    requests.push(request);
    if (!misbehave(request, response)) answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/model.gguf?token=secret`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  requests = [];
  misbehave = () => false;
});

describe("a file on a server", () => {
  it("gives the bytes of any range, with the caller's headers", async () => {
    const source = await openHttpSource(url, { ...options, headers: { authorization: "Bearer x" } });
    expect(source.size).toBe(SIZE);
    await fc.assert(
      fc.asyncProperty(fc.nat(SIZE), fc.nat(SIZE), async (a, b) => {
        const [from, to] = [Math.min(a, b), Math.max(a, b)];
        expect(Buffer.compare(await readBytes(source, from, to - from), bytes.subarray(from, to))).toBe(0);
      }),
      { numRuns: 30 },
    );
    expect(requests.every((request) => request.headers.authorization === "Bearer x")).toBe(true);
    await expect(readBytes(source, SIZE, 1)).rejects.toMatchObject({ code: "ERR_TRUNCATED" });
  });

  it("keeps secrets of its address out of messages", async () => {
    const source = await openHttpSource(url, options);
    expect(source.name).toMatch(/model\.gguf$/);
  });

  it("tries again after failures that pass, and goes on where it broke off", async () => {
    const source = await openHttpSource(url, options);
    let failures = 0;
    misbehave = (request, response) => {
      failures++;
      if (failures === 1) response.writeHead(503).end("busy");
      else if (failures === 2) response.destroy();
      else if (failures === 3) {
        const from = Number(/=(\d+)/.exec(request.headers.range!)![1]);
        response.writeHead(206, { "content-range": `bytes ${from}-99999/${SIZE}`, "content-length": SIZE - from });
        response.write(bytes.subarray(from, from + 30_000), () => response.destroy());
      } else return false;
      return true;
    };
    expect(Buffer.compare(await readBytes(source, 1000, SIZE - 1000), bytes.subarray(1000))).toBe(0);
    expect(failures).toBe(4);
    expect(requests.at(-1)!.headers.range).not.toBe(requests.at(-2)!.headers.range);
  });

  it("gives up after its tries", async () => {
    const source = await openHttpSource(url, { ...options, retries: 2 });
    misbehave = (_, response) => response.writeHead(500).end() !== undefined;
    requests = [];
    await expect(readBytes(source, 0, 10)).rejects.toMatchObject({
      code: "ERR_NETWORK",
      message: expect.stringMatching(/failed 3 times.*500/),
    });
    expect(requests.length).toBe(3);
  });

  it("gives up on a server that stalls", async () => {
    const source = await openHttpSource(url, { ...options, retries: 1, stallMs: 50 });
    misbehave = (_, response) => response.writeHead(206, { "content-range": `bytes 0-9/${SIZE}` }).write("x");
    await expect(readBytes(source, 0, 10)).rejects.toMatchObject({ code: "ERR_NETWORK" });
  });

  it("stops at the caller's signal, and when it is closed", async () => {
    const abort = new AbortController();
    const source = await openHttpSource(url, { ...options, signal: abort.signal });
    const other = await openHttpSource(url, options);
    misbehave = () => true;
    const read = readBytes(source, 0, 10);
    const otherRead = readBytes(other, 0, 10);
    setTimeout(() => abort.abort(new Error("enough")), 20);
    setTimeout(() => other.close(), 20);
    await expect(read).rejects.toThrow("enough");
    await expect(otherRead).rejects.toMatchObject({ code: "ERR_DISPOSED" });
    await expect(readBytes(other, 0, 10)).rejects.toMatchObject({ code: "ERR_DISPOSED" });
  });

  it("may change its validator's weakness, not its file", async () => {
    const source = await openHttpSource(url, options);
    misbehave = (request, response) => {
      answer(request, response, { etag: 'W/"one"' });
      return true;
    };
    expect(await readBytes(source, 0, 3)).toEqual(bytes.slice(0, 3));
  });
});

/** Each is wrong in one way from the second request on, and no second try may be made. */
describe("a server is refused that", () => {
  it.each<[string, (request: IncomingMessage, response: ServerResponse) => void, RegExp]>([
    ["has another ETag", (q, r) => answer(q, r, { etag: '"two"' }), /changed on the server/],
    ["has another Last-Modified", (q, r) => answer(q, r, { etag: "", "last-modified": "later" }), /changed/],
    ["has another size", (q, r) => answer(q, r, { "content-range": `bytes 10-19/${SIZE + 1}` }), /changed/],
    ["sends the whole file", (_, r) => r.writeHead(200, { etag: '"one"' }).end(bytes), /whole file/],
    ["sends another range", (q, r) => answer(q, r, { "content-range": `bytes 11-20/${SIZE}` }), /another range/],
    ["sends an end past the size", (q, r) => answer(q, r, { "content-range": "bytes 10-19/15" }), /another range/],
    ["hides the size", (q, r) => answer(q, r, { "content-range": "bytes 10-19/*" }), /another range/],
    ["hides the range", (_, r) => r.writeHead(206).end(bytes.subarray(10, 20)), /CORS/],
    [
      "sends more than asked for",
      (_, r) => r.writeHead(206, { "content-range": `bytes 10-19/${SIZE}` }).end(bytes),
      /more bytes/,
    ],
    ["compresses", (q, r) => answer(q, r, { "content-encoding": "zstd" }), /compresses|failed/],
    ["has lost the range", (_, r) => r.writeHead(416).end(), /became shorter/],
    ["answers 404", (_, r) => r.writeHead(404).end(), /status 404/],
    ["answers 401", (_, r) => r.writeHead(401).end(), /status 401/],
  ])("%s", async (_, wrong, message) => {
    const source = await openHttpSource(url, { ...options, retries: 0 });
    misbehave = (request, response) => {
      wrong(request, response);
      return true;
    };
    await expect(readBytes(source, 10, 10)).rejects.toMatchObject({
      name: "HalfbyteError",
      code: "ERR_NETWORK",
      message: expect.stringMatching(message),
    });
  });

  it("cannot be reached, or has nothing but an empty file", async () => {
    await expect(openHttpSource("http://127.0.0.1:1/x", { ...options, retries: 1 })).rejects.toMatchObject({
      code: "ERR_NETWORK",
    });
    misbehave = (_, response) => response.writeHead(416, { "content-range": "bytes */0" }).end() !== undefined;
    await expect(openHttpSource(url, options)).rejects.toMatchObject({ code: "ERR_NETWORK" });
    await expect(openHttpSource("not an address", options)).rejects.toMatchObject({ code: "ERR_ARGUMENT" });
  });
});
