import type { GgufType } from "../formats/gguf/metadata.ts";

/** Little-endian bytes that grow as they are written. */
export class ByteWriter {
  #bytes = new Uint8Array(4096);
  #view = new DataView(this.#bytes.buffer);
  length = 0;

  /** What was written, until more is. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.length);
  }

  raw(bytes: Uint8Array): this {
    const at = this.#grow(bytes.byteLength);
    this.#bytes.set(bytes, at);
    return this;
  }

  u32(value: number): this {
    return this.number("u32", value);
  }

  u64(value: number): this {
    return this.number("u64", value);
  }

  /** Its length as u64, and its bytes in UTF-8. */
  text(text: string | Uint8Array): this {
    const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
    return this.u64(bytes.byteLength).raw(bytes);
  }

  number(type: Exclude<GgufType, "string" | "array">, given: number | bigint | boolean): this {
    const bytes = type === "bool" ? 1 : Number(type.slice(1)) / 8;
    const at = this.#grow(bytes);
    const view = this.#view;
    const value = Number(given);
    if (type === "bool" || type === "u8") view.setUint8(at, value);
    else if (type === "i8") view.setInt8(at, value);
    else if (type === "u16") view.setUint16(at, value, true);
    else if (type === "i16") view.setInt16(at, value, true);
    else if (type === "u32") view.setUint32(at, value, true);
    else if (type === "i32") view.setInt32(at, value, true);
    else if (type === "f32") view.setFloat32(at, value, true);
    else if (type === "f64") view.setFloat64(at, value, true);
    else view.setBigUint64(at, BigInt.asUintN(64, BigInt(given)), true);
    return this;
  }

  padTo(alignment: number): this {
    this.#grow(Math.ceil(this.length / alignment) * alignment - this.length);
    return this;
  }

  #grow(length: number): number {
    const at = this.length;
    this.length += length;
    if (this.length > this.#bytes.byteLength) {
      const larger = new Uint8Array(Math.max(this.length, this.#bytes.byteLength * 2));
      larger.set(this.#bytes);
      this.#bytes = larger;
      this.#view = new DataView(larger.buffer);
    }
    return at;
  }
}
