import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { HalfbyteError } from "../errors.ts";
import type { App } from "./app.ts";

export interface ListenOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 8000; 0 takes any that is free. */
  readonly port?: number;
  /** Connections at once; further ones are closed. Default 1024. */
  readonly maxConnections?: number;
}

export interface Listening {
  readonly url: string;
  /** Takes no further connections; resolves when the last request has been answered and its connection closed. */
  close(): Promise<void>;
  /** Closes all connections, whatever they are about. */
  closeNow(): void;
}

/** Time for the headers of a request, and for all of it: who sends a byte a second is not waited for. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 60_000;
const KEEP_ALIVE_MS = 65_000;
const MAX_HEADER_BYTES = 16 * 1024;
/** How often connections are looked at while the server closes. */
const CLOSE_POLL_MS = 50;

/** Serves an app by Node's HTTP server. Throws ERR_IO where the address cannot be had. */
export async function listen(app: App, options: ListenOptions = {}): Promise<Listening> {
  const { host = "127.0.0.1", port = 8000, maxConnections = 1024 } = options;
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      connectionsCheckingInterval: 1000,
    },
    getRequestListener((request, { outgoing }) => app.fetch(request, { outgoing }), { overrideGlobalObjects: false }),
  );
  server.maxConnections = maxConnections;
  server.on("clientError", refuseBroken);
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) =>
      reject(new HalfbyteError("ERR_IO", "cannot listen", { place: `${host}:${port}`, cause, remedy: cause.message })),
    );
    server.listen(port, host, resolve);
  });
  return { url: urlOf(server), close: () => close(server), closeNow: () => server.closeAllConnections() };
}

function urlOf(server: Server): string {
  const { address, port, family } = server.address() as AddressInfo;
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

/** What is no HTTP, or has headers beyond the limit, or came too slowly. */
function refuseBroken(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy();
  const [status, code, message] =
    error.code === "HPE_HEADER_OVERFLOW"
      ? ["431 Request Header Fields Too Large", "headers_too_large", "The headers of the request are too large."]
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? ["408 Request Timeout", "request_timeout", "The request came too slowly."]
        : ["400 Bad Request", "bad_request", "That is no HTTP request."];
  const body = JSON.stringify({ error: { message, type: "invalid_request_error", param: null, code } });
  const head = `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close`;
  socket.end(`${head}\r\n\r\n${body}`);
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // A connection whose last answer has been sent may stay open for the next request, which will not come to us.
  const poll = setInterval(() => server.closeIdleConnections(), CLOSE_POLL_MS);
  try {
    await closed;
  } finally {
    clearInterval(poll);
  }
}
