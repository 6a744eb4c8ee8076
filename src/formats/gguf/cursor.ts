import { HalfbyteError } from "../../errors.ts";

/**
 * Reads little-endian values from bytes one after another; what is not there throws ERR_TRUNCATED.
 * `position` counts from the start of the file. Integers of 64 bits are numbers where that is exact.
 */
export class Cursor {
  /** For messages. */
  readonly name: string;
  protected bytes: Uint8Array;
  protected view: DataView;
  /** Where the next value stands in `bytes`. */
  protected at: number = 0;
  /** Where `bytes` stand in the file. */
  protected base: number;

  constructor(name: string, bytes: Uint8Array, base: number = 0) {
    this.name = name;
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.base = base;
  }

  get position(): number {
    return this.base + this.at;
  }

  get place(): string {
    return `${this.name} at byte ${this.position}`;
  }

  /** Moves past `length` bytes and returns where in `bytes` they begin. */
  protected take(length: number): number {
    const at = this.at;
    if (length > this.bytes.byteLength - at) {
      throw new HalfbyteError("ERR_TRUNCATED", "the file ends inside its header", {
        place: this.place,
        expected: `${length} more bytes`,
        got: String(this.bytes.byteLength - at),
      });
    }
    this.at = at + length;
    return at;
  }

  u8(): number {
    return this.view.getUint8(this.take(1));
  }
  i8(): number {
    return this.view.getInt8(this.take(1));
  }
  u16(): number {
    return this.view.getUint16(this.take(2), true);
  }
  i16(): number {
    return this.view.getInt16(this.take(2), true);
  }
  u32(): number {
    return this.view.getUint32(this.take(4), true);
  }
  i32(): number {
    return this.view.getInt32(this.take(4), true);
  }
  f32(): number {
    return this.view.getFloat32(this.take(4), true);
  }
  f64(): number {
    return this.view.getFloat64(this.take(8), true);
  }
  u64(): number | bigint {
    const at = this.take(8);
    const high = this.view.getUint32(at + 4, true);
    return high < 2 ** 21 ? high * 2 ** 32 + this.view.getUint32(at, true) : this.view.getBigUint64(at, true);
  }
  i64(): number | bigint {
    const at = this.take(8);
    const high = this.view.getInt32(at + 4, true);
    if (high >= 0 && high < 2 ** 21) return high * 2 ** 32 + this.view.getUint32(at, true);
    const value = this.view.getBigInt64(at, true);
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value;
  }

  bool(): boolean {
    const value = this.u8();
    if (value > 1) {
      throw new HalfbyteError("ERR_FORMAT", "not a boolean", {
        place: this.place,
        expected: "0 or 1",
        got: `${value}`,
      });
    }
    return value === 1;
  }

  /** A u64 that counts something; ERR_LIMIT past `limit`. */
  count(what: string, limit: number): number {
    const at = this.take(8);
    const count = this.view.getUint32(at, true) + this.view.getUint32(at + 4, true) * 2 ** 32;
    if (count > limit) {
      throw new HalfbyteError("ERR_LIMIT", `absurd ${what}`, {
        place: this.place,
        expected: `at most ${limit}`,
        got: this.view.getBigUint64(at, true).toString(),
      });
    }
    return count;
  }

  /** A view of the next `length` bytes; a copy outlives the next read, the view may not. */
  raw(length: number): Uint8Array {
    const at = this.take(length);
    return this.bytes.subarray(at, at + length);
  }
}
