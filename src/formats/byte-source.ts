import { HalfbyteError } from "../errors.ts";

/**
 * Bytes that can be read anywhere: a file, a Blob, an ArrayBuffer or a URL by ranges. Formats read through this alone,
 * so that they run unchanged in Node and in the browser.
 */
export interface ByteSource {
  /** For error messages: a path, a URL, or what the caller chose. */
  readonly name: string;
  /** Size in bytes, known when the source is opened. */
  readonly size: number;
  /**
   * Reads exactly `target.byteLength` bytes from `offset` into `target`, which may stand on a SharedArrayBuffer.
   * Throws ERR_TRUNCATED when the range is not inside the source, ERR_IO or ERR_NETWORK when reading fails.
   */
  readInto(offset: number, target: Uint8Array): Promise<void>;
  /** Releases what the source holds; reading afterwards throws ERR_DISPOSED. Safe to call twice. */
  close(): Promise<void>;
}

/** Throws ERR_TRUNCATED unless bytes `offset … offset + length − 1` are inside the source, ERR_ARGUMENT for no range at all. */
export function checkRange(source: { name: string; size: number }, offset: number, length: number): void {
  if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(length) || offset < 0 || length < 0) {
    throw new HalfbyteError("ERR_ARGUMENT", "not a byte range", { place: source.name, got: `${offset} + ${length}` });
  }
  if (length > source.size - offset) {
    throw new HalfbyteError("ERR_TRUNCATED", "range past the end", {
      place: source.name,
      expected: `at most ${source.size} bytes`,
      got: `bytes ${offset} to ${offset + length}`,
    });
  }
}

/** Bytes `offset … offset + length − 1` in memory of their own; the range is checked before anything is allocated. */
export async function readBytes(source: ByteSource, offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
  checkRange(source, offset, length);
  const bytes = new Uint8Array(length);
  await source.readInto(offset, bytes);
  return bytes;
}

/** A source of `read` and `close` that gets only ranges inside it, no empty ones, and nothing once closed. */
export function guardedSource(
  name: string,
  size: number,
  read: (offset: number, target: Uint8Array) => Promise<void> | void,
  close?: () => Promise<void> | void,
): ByteSource {
  let closing: Promise<void> | undefined;
  return {
    name,
    size,
    async readInto(offset: number, target: Uint8Array): Promise<void> {
      if (closing) throw new HalfbyteError("ERR_DISPOSED", "read after close", { place: name });
      checkRange(this, offset, target.byteLength);
      if (target.byteLength > 0) await read(offset, target);
    },
    close(): Promise<void> {
      closing ??= Promise.resolve(close?.());
      return closing;
    },
  };
}
