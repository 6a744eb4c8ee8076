import { HalfbyteError } from "../errors.ts";
import type { Session } from "./session.ts";

/**
 * A session's bytes: magic, version and header length (u32 each), a header in JSON, tokens (u32 each), SHA-256 of all
 * before. Little-endian. docs/engine.md has the table.
 */
const MAGIC = "HBSESS\r\n";
const VERSION = 1;
const PREFIX_BYTES = 16;
const HASH_BYTES = 32;
/** A header has some hundred bytes. */
const MAX_HEADER_BYTES = 1 << 16;
/** Past every context. */
const MAX_TOKENS = 1 << 24;
export const MAX_SESSION_BYTES: number = PREFIX_BYTES + MAX_HEADER_BYTES + MAX_TOKENS * 4 + HASH_BYTES;

/** `model` is the identity of the model that the session belongs to. */
export async function encodeSession(session: Session, model: string): Promise<Uint8Array> {
  const { tokens, promptLength, sampler } = session;
  const header = new TextEncoder().encode(JSON.stringify({ model, tokens: tokens.length, promptLength, sampler }));
  const bytes = new Uint8Array(PREFIX_BYTES + header.length + tokens.length * 4 + HASH_BYTES);
  const view = new DataView(bytes.buffer);
  bytes.set(new TextEncoder().encode(MAGIC));
  view.setUint32(8, VERSION, true);
  view.setUint32(12, header.length, true);
  bytes.set(header, PREFIX_BYTES);
  const start = PREFIX_BYTES + header.length;
  for (let i = 0; i < tokens.length; i++) view.setUint32(start + i * 4, tokens[i]!, true);
  const end = bytes.length - HASH_BYTES;
  bytes.set(await sha256(bytes.subarray(0, end)), end);
  return bytes;
}

/**
 * Throws ERR_FORMAT, ERR_TRUNCATED, ERR_LIMIT or ERR_HASH for bytes that are no session, ERR_UNSUPPORTED for a version to
 * come, ERR_UNKNOWN_MODEL for the session of a model that is not `model`.
 */
export async function decodeSession(bytes: Uint8Array, model: string, vocabularySize: number): Promise<Session> {
  if (bytes.length > MAX_SESSION_BYTES)
    throw new HalfbyteError("ERR_LIMIT", "too large for a session", { got: `${bytes.length} bytes` });
  if (bytes.length < PREFIX_BYTES + HASH_BYTES)
    throw new HalfbyteError("ERR_TRUNCATED", "too short for a session", { got: `${bytes.length} bytes` });
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (new TextDecoder().decode(bytes.subarray(0, MAGIC.length)) !== MAGIC)
    throw malformed("magic", MAGIC, "other bytes");
  const version = view.getUint32(8, true);
  if (version !== VERSION)
    throw new HalfbyteError("ERR_UNSUPPORTED", "a session of another version", {
      expected: String(VERSION),
      got: String(version),
    });
  const end = bytes.length - HASH_BYTES;
  const headerBytes = view.getUint32(12, true);
  if (headerBytes > Math.min(MAX_HEADER_BYTES, end - PREFIX_BYTES))
    throw new HalfbyteError("ERR_TRUNCATED", "the header is longer than the session", { got: `${headerBytes} bytes` });
  const hash = await sha256(bytes.subarray(0, end));
  if (!hash.every((byte, i) => byte === bytes[end + i]))
    throw new HalfbyteError("ERR_HASH", "the session was damaged", { remedy: "it must be made again" });

  const header = parseHeader(bytes.subarray(PREFIX_BYTES, PREFIX_BYTES + headerBytes));
  const count = (end - PREFIX_BYTES - headerBytes) / 4;
  if (header.tokens !== count) throw malformed("tokens", String(count), header.tokens);
  const { promptLength, sampler } = header;
  if (!Number.isSafeInteger(promptLength) || !(Number(promptLength) >= 1 && Number(promptLength) <= count))
    throw malformed("promptLength", `1 to ${count}`, promptLength);
  if (header.model !== model)
    throw new HalfbyteError("ERR_UNKNOWN_MODEL", "the session belongs to another model, or to one loaded otherwise", {
      expected: model,
      got: String(header.model).slice(0, 80),
    });
  const tokens = Int32Array.from({ length: count }, (_, i) => view.getUint32(PREFIX_BYTES + headerBytes + i * 4, true));
  tokens.forEach((id, i) => {
    if (id < 0 || id >= vocabularySize) throw malformed(`tokens[${i}]`, `an id below ${vocabularySize}`, id);
  });
  // Whoever goes on with it checks the sampler's state.
  return { tokens, promptLength: Number(promptLength), sampler: sampler as Session["sampler"] };
}

function parseHeader(bytes: Uint8Array): Record<string, unknown> {
  try {
    const header: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    if (typeof header === "object" && header !== null) return header as Record<string, unknown>;
  } catch {
    // Below.
  }
  throw malformed("header", "an object in JSON", "other bytes");
}

function malformed(place: string, expected: string, got: unknown): HalfbyteError {
  return new HalfbyteError("ERR_FORMAT", "not a session", { place, expected, got: String(got).slice(0, 80) });
}

async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>));
}
