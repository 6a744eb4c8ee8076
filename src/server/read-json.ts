import { ApiError } from "./api-error.ts";

/** Deeper than any schema or conversation that people write; what walks a body recursively may trust this. */
const MAX_DEPTH = 100;

/**
 * The JSON body of a request. Throws 413 `request_too_large` as soon as more than `maxBytes` have come, 415 for another
 * content type, 400 `invalid_json` for what is no UTF-8, no JSON, or nested deeper than 100.
 */
export async function readJson(request: Request, maxBytes: number): Promise<unknown> {
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  // What a page of another origin can send without asking first must not be taken for JSON.
  if (type !== "application/json" && !type.endsWith("+json"))
    throw new ApiError(415, "unsupported_media_type", "The body must be JSON, with 'Content-Type: application/json'.");
  const text = decode(await readBytes(request, maxBytes));
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ApiError(400, "invalid_json", "The body of the request is not valid JSON.", { cause });
  }
  if (isDeeper(value, MAX_DEPTH))
    throw new ApiError(400, "invalid_json", `The body of the request is nested deeper than ${MAX_DEPTH}.`);
  return value;
}

async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  const tooLarge = (): ApiError =>
    new ApiError(413, "request_too_large", `The body of the request is larger than ${maxBytes} bytes.`);
  if (Number(request.headers.get("content-length")) > maxBytes) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let length = 0;
  if (request.body)
    for await (const chunk of request.body) {
      length += chunk.length;
      if (length > maxBytes) throw tooLarge();
      chunks.push(chunk);
    }
  const bytes = new Uint8Array(length);
  let end = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, end);
    end += chunk.length;
  }
  return bytes;
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new ApiError(400, "invalid_json", "The body of the request is not valid UTF-8.", { cause });
  }
}

function isDeeper(value: unknown, limit: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limit) return true;
    level = level.flatMap((each) => (typeof each === "object" && each !== null ? Object.values(each) : []));
  }
  return false;
}
