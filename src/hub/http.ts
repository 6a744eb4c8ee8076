import * as http from "node:http";
import * as https from "node:https";
import { HalfbyteError } from "../errors.ts";
import { displayUrl } from "./reference.ts";

/** A source that is down is given up after this long, so that the next one is tried soon. */
const CONNECT_TIMEOUT_MS = 5_000;
/** Silence on an open connection; far above the pauses of a busy server. */
const IDLE_TIMEOUT_MS = 30_000;
/** As browsers and curl have it: 10 to 20. */
const MAX_REDIRECTS = 10;

export interface HttpRequest {
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent to the origin of `url` only, never to another that it redirects to. */
  readonly authorization?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds to connect, 5 s by default. */
  readonly connectTimeoutMs?: number | undefined;
}

export interface HttpResponse {
  /** Where the request ended after redirects. */
  readonly url: URL;
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** To be read to its end or destroyed. */
  readonly body: http.IncomingMessage;
}

/**
 * GET with redirects followed, whatever the final status. Node's own `fetch` is not used since it has no time limit for
 * connecting alone and decodes compressed bodies, which would make byte ranges meaningless.
 * Throws ERR_NETWORK with the reason, or the signal's reason.
 */
export async function httpGet(request: HttpRequest): Promise<HttpResponse> {
  let url = request.url;
  for (let redirects = 0; ; redirects++) {
    const authorization = url.origin === request.url.origin ? request.authorization : undefined;
    const body = await get(url, request, authorization);
    const status = body.statusCode ?? 0;
    const location = body.headers.location;
    if (![301, 302, 303, 307, 308].includes(status) || location === undefined) {
      return { url, status, headers: body.headers, body };
    }
    body.destroy();
    const next = URL.canParse(location, url) ? new URL(location, url) : undefined;
    const problem = redirectProblem(url, next, redirects);
    if (problem) throw new HalfbyteError("ERR_NETWORK", problem, { place: displayUrl(url) });
    url = next!;
  }
}

/** The body as JSON. Throws ERR_LIMIT past `maxBytes`, ERR_NETWORK for anything but JSON. */
export async function readJson(response: HttpResponse, maxBytes: number, signal?: AbortSignal): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) {
        throw new HalfbyteError("ERR_LIMIT", `the answer has more than ${maxBytes} bytes`, {
          place: displayUrl(response.url),
        });
      }
      chunks.push(chunk);
    }
  } catch (error) {
    throw networkError(error, response.url, signal);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch (cause) {
    throw new HalfbyteError("ERR_NETWORK", "the answer is not JSON", { place: displayUrl(response.url), cause });
  }
}

/** The typed error for a status that is no success. */
export function statusError(response: HttpResponse): HalfbyteError {
  response.body.destroy();
  const { status } = response;
  return new HalfbyteError("ERR_NETWORK", `the server answered ${status} ${http.STATUS_CODES[status] ?? ""}`.trim(), {
    place: displayUrl(response.url),
    ...remedyFor(status, retryAfterMs(response.headers)),
  });
}

/** How long the server asks to wait, in milliseconds, or undefined where it does not say. */
export function retryAfterMs(headers: http.IncomingHttpHeaders): number | undefined {
  const value = headers["retry-after"];
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/** ERR_NETWORK for what a socket said; the signal's reason where that is why; a typed error stays as it is. */
export function networkError(error: unknown, url: URL, signal?: AbortSignal): unknown {
  if (signal?.aborted) return signal.reason;
  if (error instanceof HalfbyteError) return error;
  const code = (error as NodeJS.ErrnoException | undefined)?.code ?? "";
  const [problem, remedy] = explain(code, error);
  return new HalfbyteError("ERR_NETWORK", problem, { place: displayUrl(url), remedy, cause: error });
}

async function get(url: URL, request: HttpRequest, authorization: string | undefined): Promise<http.IncomingMessage> {
  request.signal?.throwIfAborted();
  const connectTimeoutMs = request.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
  const headers = {
    "user-agent": "halfbyte",
    "accept-encoding": "identity",
    ...request.headers,
    ...(authorization !== undefined && { authorization }),
  };
  const send = url.protocol === "https:" ? https.get : http.get;
  try {
    return await new Promise((resolve, reject) => {
      const sent = send(url, { headers, ...(request.signal && { signal: request.signal }) }, resolve);
      const connecting = setTimeout(() => {
        sent.destroy(Object.assign(new Error("no connection"), { code: "CONNECT_TIMEOUT" }));
      }, connectTimeoutMs);
      const connected = (): void => clearTimeout(connecting);
      sent.once("socket", (socket) => {
        if (!socket.connecting) connected();
        else socket.once(url.protocol === "https:" ? "secureConnect" : "connect", connected);
      });
      sent.setTimeout(IDLE_TIMEOUT_MS, () => {
        sent.destroy(Object.assign(new Error("silence"), { code: "IDLE_TIMEOUT" }));
      });
      sent.once("close", connected);
      sent.once("error", reject);
    });
  } catch (error) {
    throw networkError(error, url, request.signal);
  }
}

function redirectProblem(from: URL, to: URL | undefined, redirects: number): string | undefined {
  if (redirects >= MAX_REDIRECTS) return `more than ${MAX_REDIRECTS} redirects`;
  if (!to || !/^https?:$/.test(to.protocol)) return "a redirect to something that is not http";
  if (from.protocol === "https:" && to.protocol === "http:") return `a redirect from https to http, at ${to.host}`;
  return undefined;
}

function remedyFor(status: number, waitMs: number | undefined): { remedy?: string } {
  switch (status) {
    case 401:
      return {
        remedy: "check the name; for a private or gated model set HF_TOKEN (or log in with the hub's own tool)",
      };
    case 403:
      return { remedy: "accept the model's terms on its page, with the account of your token" };
    case 404:
      return { remedy: "check the name, the revision and the file" };
    case 429:
      return { remedy: waitMs === undefined ? "try again later" : `try again in ${Math.ceil(waitMs / 1000)} s` };
    default:
      return status >= 500 ? { remedy: "try again later" } : {};
  }
}

function explain(code: string, error: unknown): [problem: string, remedy: string] {
  const connection = "check the connection";
  switch (code) {
    case "CONNECT_TIMEOUT":
      return ["no connection within the time limit", proxyHint() ?? connection];
    case "IDLE_TIMEOUT":
      return ["the server fell silent", "try again: what has arrived is kept"];
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return ["the server's name was not found", proxyHint() ?? connection];
    case "ECONNREFUSED":
      return ["the server refused the connection", proxyHint() ?? connection];
    case "ENETUNREACH":
    case "EHOSTUNREACH":
    case "EADDRNOTAVAIL":
      return ["there is no route to the server", proxyHint() ?? connection];
    case "ECONNRESET":
    case "EPIPE":
      return ["the connection was cut", "try again: what has arrived is kept"];
  }
  if (/CERT|SIGNATURE|ISSUER|ERR_TLS/.test(code)) {
    return [
      `the server's certificate was not accepted (${code})`,
      "set NODE_EXTRA_CA_CERTS if your network has its own",
    ];
  }
  return [`the request failed (${code || (error instanceof Error ? error.message : "unknown")})`, connection];
}

function proxyHint(): string | undefined {
  const proxy = process.env.HTTPS_PROXY ?? process.env.https_proxy ?? process.env.HTTP_PROXY;
  if (!proxy || process.env.NODE_USE_ENV_PROXY) return undefined;
  return "a proxy is set: Node 24.5 or later uses it with NODE_USE_ENV_PROXY=1";
}
