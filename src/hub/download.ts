import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { HalfbyteError } from "../errors.ts";
import { type HttpResponse, httpGet, networkError, retryAfterMs, statusError } from "./http.ts";
import { type FileExpectation, type FileRecord, PartialFile } from "./partial-file.ts";
import { displayUrl } from "./reference.ts";

/** Failed tries in a row, without a byte between them, before a download is given up (it can be resumed later). */
const MAX_IDLE_TRIES = 4;
const FIRST_PAUSE_MS = 250;
/** A server that asks for a longer pause gets it from the user, who is told. */
const MAX_RETRY_AFTER_MS = 30_000;
/** No model file comes near; a server that promises more is not to be believed. */
const MAX_FILE_BYTES = 4 * 1024 ** 4;

export interface DownloadRequest {
  readonly url: URL;
  /** The final path; bytes stand beside it until they are checked. */
  readonly target: string;
  readonly expectation: FileExpectation;
  readonly authorization?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onBytes?: (receivedBytes: number, totalBytes: number | undefined) => void;
}

interface Failure {
  readonly error: unknown;
  readonly waitMs?: number | undefined;
}

/**
 * Fetches a file over http, continuing an earlier try where the server and the checks allow it.
 * Throws ERR_NETWORK, ERR_IO, ERR_HASH (nothing is kept), ERR_LIMIT, or the signal's reason.
 */
export async function download(request: DownloadRequest): Promise<FileRecord> {
  const { url, target, expectation } = request;
  // A hash of the address, since its query may hold a secret that does not belong in a file.
  const key = createHash("sha256").update(url.href).digest("hex");
  const { file, resumableBytes, validator } = await PartialFile.open(target, expectation, key);
  try {
    await file.keep(Math.min(resumableBytes, expectation.bytes ?? MAX_FILE_BYTES), request.signal);
    await new Transfer(request, file, key, validator).run();
  } catch (error) {
    await (isHashError(error) ? file.discard() : file.close());
    if (!isHashError(error) || resumableBytes === 0) throw error;
    return download(request);
  }
  try {
    return await file.finish();
  } catch (error) {
    // What an earlier try had left may have been damaged: once more, from the first byte.
    if (!isHashError(error) || resumableBytes === 0) throw error;
    return download(request);
  }
}

/** One file's way from the server to the partial file, over as many connections as it takes. */
class Transfer {
  readonly #request: DownloadRequest;
  readonly #file: PartialFile;
  readonly #key: string;
  #validator: string | undefined;
  #answered = false;

  constructor(request: DownloadRequest, file: PartialFile, key: string, validator: string | undefined) {
    this.#request = request;
    this.#file = file;
    this.#key = key;
    this.#validator = validator;
  }

  async run(): Promise<void> {
    const { expectation, signal } = this.#request;
    for (let idleTries = 0; ; ) {
      if (expectation.bytes !== undefined && this.#file.bytes === expectation.bytes) return;
      const before = this.#file.bytes;
      const failure = await this.#connection();
      if (!failure) return;
      idleTries = this.#file.bytes > before ? 0 : idleTries + 1;
      if (idleTries === MAX_IDLE_TRIES) throw failure.error;
      await sleep(failure.waitMs ?? FIRST_PAUSE_MS * 2 ** idleTries, undefined, { signal }).catch(() => {});
      signal?.throwIfAborted();
    }
  }

  /** Undefined when the file has ended; a failure that another try may mend; throws what none can. */
  async #connection(): Promise<Failure | undefined> {
    const { url, signal, authorization } = this.#request;
    const offset = await this.#resumeOffset();
    let response: HttpResponse;
    try {
      const headers = offset > 0 ? rangeHeaders(offset, this.#validator) : {};
      response = await httpGet({ url, headers, authorization, signal });
    } catch (error) {
      // A server that cannot be reached at all fails at once: there may be another source.
      if (signal?.aborted || !this.#answered) throw error;
      return { error };
    }
    const failure = await this.#refusal(response, offset);
    if (failure) return failure;
    this.#answered = true;
    await this.#accept(response, offset);
    return this.#copy(response);
  }

  /** Where to go on, or 0 after emptying a part that cannot be continued safely. */
  async #resumeOffset(): Promise<number> {
    if (this.#validator === undefined && this.#request.expectation.sha256 === undefined && this.#file.bytes > 0) {
      await this.#file.restart();
    }
    return this.#file.bytes;
  }

  async #refusal(response: HttpResponse, offset: number): Promise<Failure | undefined> {
    const { status } = response;
    if (status === 200 || (status === 206 && offset > 0)) return undefined;
    const error = statusError(response);
    if (status === 416 && offset > 0) {
      await this.#file.restart();
      this.#validator = undefined;
      return { error, waitMs: 0 };
    }
    const waitMs = retryAfterMs(response.headers);
    if ((status === 429 || status === 503) && (waitMs ?? 0) <= MAX_RETRY_AFTER_MS) return { error, waitMs };
    throw error;
  }

  /** Sets the file to where the body begins and checks the size that the server promises. */
  async #accept(response: HttpResponse, offset: number): Promise<void> {
    const { expectation, onBytes } = this.#request;
    const place = displayUrl(response.url);
    const range = response.status === 206 ? contentRange(response.headers) : undefined;
    if (response.status === 206 && range?.start !== offset) {
      response.body.destroy();
      throw new HalfbyteError("ERR_NETWORK", "the server sent another range than the one asked for", { place });
    }
    if (response.status === 200 && offset > 0) await this.#file.restart();
    const total = range?.total ?? contentLength(response.headers);
    if (total !== undefined && total > MAX_FILE_BYTES) {
      response.body.destroy();
      throw new HalfbyteError("ERR_LIMIT", `promises ${total} bytes`, { place, expected: `at most ${MAX_FILE_BYTES}` });
    }
    if (total !== undefined && expectation.bytes !== undefined && total !== expectation.bytes) {
      response.body.destroy();
      const expected = `${expectation.bytes} bytes`;
      throw new HalfbyteError("ERR_HASH", "the server's file has another size", { place, expected, got: `${total}` });
    }
    if (total !== undefined) await this.#file.checkSpace(total);
    this.#validator = validatorOf(response.headers);
    await this.#file.saveState(
      this.#validator === undefined ? { key: this.#key } : { key: this.#key, validator: this.#validator },
    );
    this.#totalBytes = total ?? expectation.bytes;
    onBytes?.(this.#file.bytes, this.#totalBytes);
  }

  #totalBytes: number | undefined;

  async #copy(response: HttpResponse): Promise<Failure | undefined> {
    const { signal, onBytes } = this.#request;
    try {
      for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
        await this.#file.append(chunk);
        onBytes?.(this.#file.bytes, this.#totalBytes);
      }
      return undefined;
    } catch (thrown) {
      const error = networkError(thrown, response.url, signal);
      if (error !== thrown && !signal?.aborted) return { error };
      throw error;
    }
  }
}

function isHashError(error: unknown): boolean {
  return error instanceof HalfbyteError && error.code === "ERR_HASH";
}

function rangeHeaders(offset: number, validator: string | undefined): Record<string, string> {
  return { range: `bytes=${offset}-`, ...(validator !== undefined && { "if-range": validator }) };
}

/** A strong ETag, else the date: what RFC 9110, 13.1.5, allows in If-Range. */
function validatorOf(headers: IncomingHttpHeaders): string | undefined {
  const { etag } = headers;
  const candidate = etag !== undefined && !etag.startsWith("W/") ? etag : headers["last-modified"];
  return candidate !== undefined && /^[\x20-\x7e]{1,256}$/.test(candidate) ? candidate : undefined;
}

function contentLength(headers: IncomingHttpHeaders): number | undefined {
  const value = headers["content-length"];
  return value !== undefined && /^\d{1,20}$/.test(value) ? Number(value) : undefined;
}

function contentRange(headers: IncomingHttpHeaders): { start: number; total: number | undefined } | undefined {
  const match = /^bytes (\d{1,20})-\d{1,20}\/(?:(\d{1,20})|\*)$/.exec(headers["content-range"] ?? "");
  if (!match) return undefined;
  return { start: Number(match[1]), total: match[2] === undefined ? undefined : Number(match[2]) };
}
