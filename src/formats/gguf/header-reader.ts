import { HalfbyteError } from "../../errors.ts";
import { type ByteSource, checkRange } from "../byte-source.ts";
import { Cursor } from "./cursor.ts";
import { FIRST_WINDOW_BYTES, MAX_HEADER_BYTES, MAX_STRING_BYTES, MAX_WINDOW_BYTES } from "./limits.ts";

/**
 * A cursor over the start of a source, through a window that moves on and grows while the header goes on. Await
 * `need(n)` before reading n bytes; `skip` passes over bytes without reading them.
 */
export class HeaderReader extends Cursor {
  readonly source: ByteSource;
  #windowBytes: number = FIRST_WINDOW_BYTES;
  #buffer: Uint8Array = new Uint8Array(0);

  constructor(source: ByteSource) {
    super(source.name, new Uint8Array(0));
    this.source = source;
  }

  get remaining(): number {
    return this.source.size - this.position;
  }

  /** Makes the next `length` bytes readable; undefined when they are already, so that most calls need no await. */
  need(length: number): Promise<void> | undefined {
    return length <= this.bytes.byteLength - this.at ? undefined : this.#fill(length);
  }

  /** Passes over `length` bytes that must be inside the file and the header's limit. */
  skip(length: number, what: string): void {
    if (length > this.remaining) {
      throw new HalfbyteError("ERR_TRUNCATED", `the file ends inside ${what}`, {
        place: this.place,
        expected: `${length} more bytes`,
        got: String(this.remaining),
      });
    }
    this.at += length;
    this.#checkHeaderSize(0);
  }

  /** Passes over `count` strings: only their lengths are looked at. */
  async skipStrings(count: number): Promise<void> {
    if (count * 8 > this.remaining) this.skip(count * 8, "an array of strings");
    for (let done = 0; ; ) {
      done += this.#skipStringsInWindow(count - done);
      if (done === count) break;
      await this.#fill(8);
      const length = this.count("string length", MAX_STRING_BYTES);
      if (length > this.source.size - this.position) this.skip(length, "a string");
      this.at += length;
      done++;
    }
    this.#checkHeaderSize(0);
  }

  /** Passes over strings, at most `count`, as long as their lengths are in the window and nothing is wrong with them. */
  #skipStringsInWindow(count: number): number {
    const { view } = this;
    const last = view.byteLength - 8;
    const fileEnd = this.source.size - this.base;
    let at = this.at;
    let done = 0;
    for (; done < count && at <= last; done++) {
      const length = view.getUint32(at, true);
      if (length > MAX_STRING_BYTES || length > fileEnd - at - 8 || view.getUint32(at + 4, true) !== 0) break;
      at += 8 + length;
    }
    this.at = at;
    return done;
  }

  async #fill(length: number): Promise<void> {
    checkRange(this.source, this.position, length);
    this.#checkHeaderSize(length);
    const size = Math.min(Math.max(this.#windowBytes, length), this.remaining);
    if (this.#buffer.byteLength < size) this.#buffer = new Uint8Array(size);
    const position = this.position;
    const window = this.#buffer.subarray(0, size);
    await this.source.readInto(position, window);
    this.bytes = window;
    this.view = new DataView(window.buffer, window.byteOffset, size);
    this.base = position;
    this.at = 0;
    this.#windowBytes = Math.min(MAX_WINDOW_BYTES, this.#windowBytes * 4);
  }

  #checkHeaderSize(more: number): void {
    if (this.position + more > MAX_HEADER_BYTES) {
      throw new HalfbyteError("ERR_LIMIT", "the header is too large", {
        place: this.place,
        expected: `at most ${MAX_HEADER_BYTES} bytes`,
      });
    }
  }
}
