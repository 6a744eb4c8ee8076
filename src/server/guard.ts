import { HalfbyteError } from "../errors.ts";
import { ApiError } from "./api-error.ts";

export interface GuardOptions {
  /** One of these must come as `Authorization: Bearer …` or `x-api-key`; none: no key is needed. */
  readonly apiKeys?: readonly string[];
  /**
   * Names by which the server may be called, without port; "any" allows all. Default: those of this machine, unless a key
   * is needed. A page whose name was made to point here (DNS rebinding) calls it by another.
   */
  readonly allowedHosts?: readonly string[] | "any";
  /** Origins whose pages may call the server, or "*" among them; default none but its own. */
  readonly corsOrigins?: readonly string[];
}

const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];

/** Who may call. */
export class Guard {
  readonly #keys: readonly Promise<Uint8Array>[];
  readonly #hosts: readonly string[] | "any";
  readonly #origins: readonly string[];

  constructor({ apiKeys = [], allowedHosts, corsOrigins = [] }: GuardOptions) {
    this.#keys = apiKeys.map(digest);
    this.#hosts = allowedHosts ?? (apiKeys.length > 0 ? "any" : LOOPBACK_NAMES);
    this.#origins = corsOrigins.map(originOf);
  }

  /** Throws 403 for a host or origin that is not allowed. */
  checkOrigin(request: Request): void {
    const host = request.headers.get("host") ?? new URL(request.url).host;
    if (this.#hosts !== "any" && !this.#hosts.includes(nameOf(host)))
      throw new ApiError(
        403,
        "host_not_allowed",
        "This server is not called by that name. Its option --allowed-host adds one.",
      );
    const origin = request.headers.get("origin");
    if (origin === null || this.allowsOrigin(origin) || hostOf(origin) === host) return;
    throw new ApiError(
      403,
      "origin_not_allowed",
      "Pages of that origin may not call this server. Its option --cors allows one.",
    );
  }

  allowsOrigin(origin: string): boolean {
    return this.#origins.includes("*") || this.#origins.includes(origin);
  }

  /** Throws 401 without one of the keys. */
  async checkKey({ headers }: Request): Promise<void> {
    if (this.#keys.length === 0) return;
    const given = /^Bearer +(.+)$/i.exec(headers.get("authorization") ?? "")?.[1] ?? headers.get("x-api-key");
    if (!given)
      throw new ApiError(401, "missing_api_key", "This server needs an API key, as 'Authorization: Bearer KEY'.");
    const hash = await digest(given.trim());
    let known = 0;
    for (const key of this.#keys) known |= Number(sameBytes(hash, await key));
    if (!known) throw new ApiError(401, "invalid_api_key", "That API key is not one of this server's.");
  }
}

/** An origin as browsers send it; also "*" and "null". Throws ERR_ARGUMENT for what is none. */
export function originOf(text: string): string {
  const origin = text.trim().replace(/\/$/, "");
  if (origin === "*" || origin === "null") return origin;
  const isOrigin = /^[a-z][a-z\d+.-]*:\/\/[^\s/?#@*]+$/i.test(origin) && URL.canParse(origin);
  if (!isOrigin)
    throw new HalfbyteError("ERR_ARGUMENT", "no origin", {
      place: "--cors (corsOrigins)",
      expected: "the likes of https://page.example:8080, or *",
      got: text.slice(0, 200),
    });
  // Without the scheme's own port and in lower case; schemes of apps have no such form.
  const { origin: normal } = new URL(origin);
  return normal === "null" ? origin.toLowerCase() : normal;
}

/** Hashes have one length, and what their comparison could tell of time says nothing of the key. */
async function digest(key: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key)));
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) difference |= a[i]! ^ b[i]!;
  return difference === 0;
}

/** Without the port. */
function nameOf(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, "").replace(/\.$/, "");
}

function hostOf(origin: string): string | undefined {
  try {
    return new URL(origin).host;
  } catch {
    return undefined;
  }
}
