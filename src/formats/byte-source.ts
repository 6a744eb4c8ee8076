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
