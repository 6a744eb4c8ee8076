import { HalfbyteError } from "../errors.ts";
import { type ByteSource, guardedSource } from "./byte-source.ts";

export interface HttpSourceOptions {
  /** Sent with every request: an authorization token, say. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends every read, now and later, with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Tries after the first one, for each read; 4 when absent. A try goes on where the last one broke off. */
  readonly retries?: number;
  /** Before the first repeat, doubled for each further one; 500 when absent. */
  readonly retryDelayMs?: number;
  /** A try without a byte for so long has failed; 30,000 when absent. */
  readonly stallMs?: number;
  /** In place of the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
}

/** What must stay the same between two reads of one file. */
interface Revision {
  readonly size: number;
  readonly etag: string | null;
  readonly lastModified: string | null;
}

/** A failure that a second try may mend. */
class PassingFailure extends Error {}

const PASSING_STATUS: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);
const MAX_RETRY_DELAY_MS = 10_000;

/**
 * A file on a server that answers range requests, read by ranges. Its revision (size, ETag, Last-Modified) is kept, and
 * a server that answers with another one, another range or the whole file throws ERR_NETWORK.
 */
export async function openHttpSource(url: string | URL, options: HttpSourceOptions = {}): Promise<ByteSource> {
  const { retries = 4, retryDelayMs = 500, stallMs = 30_000, signal } = options;
  const address = addressOf(url);
  // Signed addresses carry secrets in the query: messages show none of it.
  const name = address.origin === "null" ? address.protocol : address.origin + address.pathname;
  const closing = new AbortController();
  let revision: Revision | undefined;

  const fail = (problem: string, details: { expected?: string; got?: string; remedy?: string; cause?: unknown } = {}) =>
    new HalfbyteError("ERR_NETWORK", problem, { place: name, ...details });

  function checkRevision(found: Revision): void {
    revision ??= found;
    const same =
      found.size === revision.size &&
      (found.etag && revision.etag
        ? opaqueTag(found.etag) === opaqueTag(revision.etag)
        : !found.lastModified || !revision.lastModified || found.lastModified === revision.lastModified);
    if (!same) {
      const show = ({ size, etag, lastModified }: Revision): string => `${size} bytes, ${etag ?? lastModified}`;
      throw fail("the file changed on the server while it was read", {
        expected: show(revision),
        got: show(found),
        remedy: "open it again",
      });
    }
  }

  /** Reads into `target` from `done` on; returns how far it came, and throws only what a second try cannot mend. */
  async function attempt(
    offset: number,
    target: Uint8Array,
    done: number,
  ): Promise<{ done: number; failure?: unknown }> {
    const stalled = new AbortController();
    const signals = [stalled.signal, closing.signal, ...(signal ? [signal] : [])];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stillAlive = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => stalled.abort(new PassingFailure(`no byte for ${stallMs} ms`)), stallMs);
    };
    try {
      stillAlive();
      const first = offset + done;
      const last = offset + target.byteLength - 1;
      const response = await (options.fetch ?? fetch)(address, {
        headers: { ...options.headers, Range: `bytes=${first}-${last}` },
        signal: AbortSignal.any(signals),
      });
      checkRevision(checkResponse(response, first, last, fail));
      const reader = response.body?.getReader();
      for (let chunk = await reader?.read(); chunk && !chunk.done; chunk = await reader?.read()) {
        stillAlive();
        if (chunk.value.byteLength > target.byteLength - done) throw fail("the server sent more bytes than asked for");
        target.set(chunk.value, done);
        done += chunk.value.byteLength;
      }
      return done === target.byteLength ? { done } : { done, failure: new PassingFailure("the answer broke off") };
    } catch (failure) {
      if (signal?.aborted) throw signal.reason;
      if (closing.signal.aborted) throw new HalfbyteError("ERR_DISPOSED", "closed while reading", { place: name });
      if (failure instanceof HalfbyteError) throw failure;
      return { done, failure };
    } finally {
      clearTimeout(timer);
      stalled.abort();
    }
  }

  async function read(offset: number, target: Uint8Array): Promise<void> {
    let done = 0;
    for (let repeat = 0; ; repeat++) {
      signal?.throwIfAborted();
      const result = await attempt(offset, target, done);
      done = result.done;
      if (result.failure === undefined) return;
      if (repeat >= retries) {
        const what = result.failure instanceof Error ? result.failure.message : String(result.failure);
        throw fail(`reading failed ${repeat + 1} times: ${what}`, {
          remedy: "check the connection, then try again",
          cause: result.failure,
        });
      }
      const delay = Math.min(MAX_RETRY_DELAY_MS, retryDelayMs * 2 ** repeat);
      await new Promise((resolve) => setTimeout(resolve, delay));
    }
  }

  // The size stands in every answer to a range request; asking for one byte works where HEAD is forbidden.
  await read(0, new Uint8Array(1));
  return guardedSource(name, revision!.size, read, () => closing.abort());
}

function addressOf(url: string | URL): URL {
  try {
    return new URL(url, globalThis.location?.href);
  } catch (cause) {
    throw new HalfbyteError("ERR_ARGUMENT", "not a URL", { got: String(url), cause });
  }
}

/** The revision of an answer to `bytes=first-last`; throws what is wrong with it. */
function checkResponse(
  response: Response,
  first: number,
  last: number,
  fail: (problem: string, details?: { expected?: string; got?: string; remedy?: string }) => HalfbyteError,
): Revision {
  const { status, headers } = response;
  if (PASSING_STATUS.has(status)) throw new PassingFailure(`the server answered ${status}`);
  if (status === 200) {
    throw fail("the server sends the whole file where a range was asked for", {
      expected: "status 206",
      got: "status 200",
      remedy: "fetch the file whole, or serve it from a server that answers range requests",
    });
  }
  if (status === 416) throw fail("the server has no such range: the file is empty or became shorter");
  if (status !== 206) throw fail("the server refused", { expected: "status 206", got: `status ${status}` });
  const encoding = headers.get("content-encoding");
  if (encoding && encoding !== "identity") {
    throw fail("the server compresses ranges", { expected: "no content-encoding", got: encoding });
  }
  const range = headers.get("content-range");
  const found = /^bytes (\d+)-(\d+)\/(\d+)$/i.exec(range ?? "");
  const size = Number(found?.[3]);
  if (Number(found?.[1]) !== first || Number(found?.[2]) !== last || !Number.isSafeInteger(size) || size <= last) {
    throw fail("the server answered with another range", {
      expected: `content-range: bytes ${first}-${last}/size`,
      got: range ?? "none",
      ...(range === null && { remedy: "a server of another origin must expose Content-Range (CORS)" }),
    });
  }
  return { size, etag: headers.get("etag"), lastModified: headers.get("last-modified") };
}

/** A weak and a strong tag of the same bytes differ by the prefix alone; servers add it when a proxy compresses. */
function opaqueTag(etag: string): string {
  return etag.replace(/^W\//, "");
}
