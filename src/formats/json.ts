import { HalfbyteError } from "../errors.ts";
import { type ByteSource, readBytes } from "./byte-source.ts";
import { decodeUtf8 } from "./utf8.ts";

/** The largest tokenizer.json in use have some 35 MB, the largest indexes of shards some 10 MB. */
export const MAX_JSON_BYTES: number = 64 * 1024 * 1024;

/** Files in use nest under 20 deep. `JSON.parse` takes seconds and gigabytes for millions of open brackets. */
const MAX_JSON_DEPTH = 256;

export type JsonObject = { readonly [key: string]: unknown };

/** A whole JSON file of at most `limit` bytes. Throws ERR_LIMIT for a larger one, ERR_FORMAT where it is no JSON. */
export async function readJson(source: ByteSource, limit: number = MAX_JSON_BYTES): Promise<unknown> {
  const text = await readText(source, limit);
  checkDepth(text, source.name);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new HalfbyteError("ERR_FORMAT", "not JSON", { place: source.name, cause });
  }
}

/** As `readJson`, and ERR_FORMAT where the file holds something other than an object. */
export async function readJsonObject(source: ByteSource, limit?: number): Promise<JsonObject> {
  const value = await readJson(source, limit);
  if (isJsonObject(value)) return value;
  throw new HalfbyteError("ERR_FORMAT", "not a JSON object", { place: source.name });
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A whole file of UTF-8 text of at most `limit` bytes, without the byte order mark some editors put first. */
export async function readText(source: ByteSource, limit: number = MAX_JSON_BYTES): Promise<string> {
  const text = decodeUtf8(await readWhole(source, limit), source.name);
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

/** A whole file of at most `limit` bytes. */
export async function readWhole(source: ByteSource, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  if (source.size > limit) {
    throw new HalfbyteError("ERR_LIMIT", "the file is too large", {
      place: source.name,
      expected: `at most ${limit} bytes`,
      got: String(source.size),
    });
  }
  return readBytes(source, 0, source.size);
}

function checkDepth(text: string, place: string): void {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22) i = endOfString(text, i);
    else if (code === 0x5b || code === 0x7b) depth++;
    else if (code === 0x5d || code === 0x7d) depth--;
    if (depth > MAX_JSON_DEPTH) {
      throw new HalfbyteError("ERR_LIMIT", "JSON nests too deep", {
        place,
        expected: `at most ${MAX_JSON_DEPTH} levels`,
      });
    }
  }
}

/** Where the string that opens at `start` closes, or the end of the text. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (let code = text.charCodeAt(at); code !== 0x22 && at < text.length; code = text.charCodeAt(at)) {
    at += code === 0x5c ? 2 : 1;
  }
  return at;
}
