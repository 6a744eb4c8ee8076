import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { HalfbyteError } from "../errors.ts";

/** Environment variables; read as untrusted text. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The Hugging Face hub's own rule for its switches. */
const HUB_TRUE = /^(1|on|yes|true)$/i;
const FALSE = /^(|0|off|no|false)$/i;

/** Printable ASCII without spaces: all that a bearer token may hold, and nothing that could break out of a header. */
const TOKEN = /^[\x21-\x7e]{1,1024}$/;

/** True when HALFBYTE_OFFLINE forbids every source. Throws ERR_ARGUMENT for a value that is neither yes nor no. */
export function isOffline(environment: Environment): boolean {
  const value = environment.HALFBYTE_OFFLINE ?? "";
  if (HUB_TRUE.test(value)) return true;
  if (FALSE.test(value)) return false;
  throw new HalfbyteError("ERR_ARGUMENT", "is neither yes nor no", {
    place: "HALFBYTE_OFFLINE",
    expected: "1, true, yes, on, 0, false, no, off or nothing",
  });
}

export function isHubOffline(environment: Environment): boolean {
  return HUB_TRUE.test(environment.HF_HUB_OFFLINE ?? "");
}

/** The address of the Hugging Face hub or of the mirror in HF_ENDPOINT. Throws ERR_ARGUMENT. */
export function hubEndpoint(environment: Environment): URL {
  const text = environment.HF_ENDPOINT || "https://huggingface.co";
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new HalfbyteError("ERR_ARGUMENT", "is not the address of a hub", {
      place: "HF_ENDPOINT",
      expected: "http:// or https://, a host and perhaps a path",
    });
  }
  if (!url.pathname.endsWith("/")) url.pathname += "/";
  return url;
}

/**
 * The user's token for the hub, from HF_TOKEN or the hub's token file, or undefined.
 * Undefined also where `endpoint` would carry it in clear text over a network. Throws ERR_ARGUMENT, ERR_IO.
 */
export async function hubToken(environment: Environment, endpoint: URL): Promise<string | undefined> {
  if (endpoint.protocol !== "https:" && !isLoopback(endpoint)) return undefined;
  const given = environment.HF_TOKEN?.trim() || environment.HUGGING_FACE_HUB_TOKEN?.trim();
  if (given) return checkedToken(given, "HF_TOKEN");
  if (HUB_TRUE.test(environment.HF_HUB_DISABLE_IMPLICIT_TOKEN ?? "")) return undefined;
  const file = tokenFile(environment);
  let text: string;
  try {
    text = (await readFile(file, "utf8")).trim();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new HalfbyteError("ERR_IO", "the hub's token file cannot be read", {
      place: file,
      remedy: "make it readable, or set HF_HUB_DISABLE_IMPLICIT_TOKEN=1 to do without it",
      cause: error,
    });
  }
  return text ? checkedToken(text, file) : undefined;
}

/** True for a host that never leaves this machine. */
function isLoopback(url: URL): boolean {
  return url.hostname === "localhost" || url.hostname === "[::1]" || /^127(\.\d+){3}$/.test(url.hostname);
}

/** The user's home folder. Throws ERR_ARGUMENT where there is none, with `remedy`. */
export function homeFolder(environment: Environment, remedy: string): string {
  const home = (process.platform === "win32" ? environment.USERPROFILE : environment.HOME) || homedir();
  if (isAbsolute(home) && !home.includes("\0")) return home;
  throw new HalfbyteError("ERR_ARGUMENT", "this user has no home folder", { remedy });
}

function checkedToken(token: string, place: string): string {
  if (TOKEN.test(token)) return token;
  throw new HalfbyteError("ERR_ARGUMENT", "does not hold a token", {
    place,
    expected: "up to 1024 printable ASCII characters without spaces",
  });
}

function tokenFile(environment: Environment): string {
  if (environment.HF_TOKEN_PATH) return environment.HF_TOKEN_PATH;
  if (environment.HF_HOME) return join(environment.HF_HOME, "token");
  const home = homeFolder(environment, "set HOME");
  return join(environment.XDG_CACHE_HOME || join(home, ".cache"), "huggingface", "token");
}
