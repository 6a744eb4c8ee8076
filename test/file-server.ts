import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** How a path of the test server behaves. */
export interface ServedFile {
  readonly bytes: Uint8Array;
  /** Without an ETag a client has nothing for If-Range. */
  readonly etag?: string | undefined;
  readonly ranges?: boolean;
  /** Cuts the connection after so many bytes of each answer, so many times. */
  readonly cut?: { afterBytes: number; times: number };
  /** Another Content-Length than the bytes have. */
  readonly statedLength?: number;
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** An http server on loopback that keeps a log of what it was asked. */
export class FileServer {
  readonly requests: { path: string; headers: IncomingMessage["headers"] }[] = [];
  readonly #routes = new Map<string, Handler>();
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const path = request.url ?? "";
      this.requests.push({ path, headers: request.headers });
      const handler = this.#routes.get(path);
      if (handler) handler(request, response);
      else response.writeHead(404).end();
    });
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  url(path: string): URL {
    return new URL(path, this.origin);
  }

  route(path: string, handler: Handler): void {
    this.#routes.set(path, handler);
  }

  json(path: string, value: unknown): void {
    this.route(path, (_, response) => response.end(JSON.stringify(value)));
  }

  file(path: string, served: ServedFile): void {
    let cutsLeft = served.cut?.times ?? 0;
    this.route(path, (request, response) => {
      const { bytes, etag, ranges = true } = served;
      const asked = ranges ? /^bytes=(\d+)-$/.exec(request.headers.range ?? "") : null;
      const condition = request.headers["if-range"];
      const start = asked && (condition === undefined || condition === etag) ? Number(asked[1]) : 0;
      if (start > 0 && start >= bytes.length) {
        response.writeHead(416, { "content-range": `bytes */${bytes.length}` }).end();
        return;
      }
      const body = bytes.subarray(start);
      response.writeHead(start > 0 ? 206 : 200, {
        "content-length": served.statedLength ?? body.length,
        ...(start > 0 && { "content-range": `bytes ${start}-${bytes.length - 1}/${bytes.length}` }),
        ...(etag !== undefined && { etag }),
      });
      if (cutsLeft > 0 && served.cut) {
        cutsLeft--;
        response.write(body.subarray(0, served.cut.afterBytes), () => setTimeout(() => response.destroy(), 20));
      } else response.end(body);
    });
  }
}

/** Bytes that differ everywhere, the same for the same seed. */
export function noise(length: number, seed = 1): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = seed;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** The id that git gives a file. */
export function gitBlob(bytes: Uint8Array): string {
  return createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}
