import { ggmlType } from "../src/formats/ggml/types.ts";
import type { GgufType } from "../src/formats/gguf/metadata.ts";

const TYPE_NAMES = ["u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"];

/** A value with its type; arrays name the type of their elements. */
export type WrittenValue =
  | { readonly type: Exclude<GgufType, "array">; readonly value: Scalar }
  | { readonly type: "array"; readonly of: GgufType; readonly value: readonly (WrittenValue | Scalar)[] };

type Scalar = number | bigint | boolean | string | Uint8Array;

export interface WrittenTensor {
  readonly name: string;
  /** A ggml type number. */
  readonly type: number;
  readonly shape: readonly (number | bigint)[];
  /** In the data; follows the tensor before when absent. */
  readonly offset?: number | bigint;
  /** Zeros of the right length when absent. */
  readonly data?: Uint8Array;
}

export interface WrittenGguf {
  readonly entries?: readonly (readonly [key: string, value: WrittenValue])[];
  readonly tensors?: readonly WrittenTensor[];
  readonly magic?: string;
  readonly version?: number;
  readonly bigEndian?: boolean;
  readonly tensorCount?: number | bigint;
  readonly keyCount?: number | bigint;
  /** Of the data that is written; the file says what its entries say. */
  readonly alignment?: number;
  /** Bytes taken away at the end. */
  readonly cut?: number;
}

/** Grows as it is written to. */
export class ByteWriter {
  readonly littleEndian: boolean;
  #bytes = new Uint8Array(256);
  #view = new DataView(this.#bytes.buffer);
  length = 0;

  constructor(littleEndian = true) {
    this.littleEndian = littleEndian;
  }

  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.length);
  }

  raw(bytes: Uint8Array): this {
    const at = this.#grow(bytes.byteLength);
    this.#bytes.set(bytes, at);
    return this;
  }

  u8(value: number): this {
    const at = this.#grow(1);
    this.#bytes[at] = value;
    return this;
  }

  u32(value: number): this {
    const at = this.#grow(4);
    this.#view.setUint32(at, value, this.littleEndian);
    return this;
  }

  u64(value: number | bigint): this {
    const at = this.#grow(8);
    this.#view.setBigUint64(at, BigInt.asUintN(64, BigInt(value)), this.littleEndian);
    return this;
  }

  string(text: string | Uint8Array): this {
    const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
    return this.u64(bytes.byteLength).raw(bytes);
  }

  padTo(alignment: number): this {
    while (this.length % alignment !== 0) this.u8(0);
    return this;
  }

  value(given: WrittenValue): this {
    if (given.type === "array") {
      this.u32(TYPE_NAMES.indexOf(given.of)).u64(given.value.length);
      for (const item of given.value) {
        this.value(
          typeof item === "object" && "type" in item ? item : ({ type: given.of, value: item } as WrittenValue),
        );
      }
      return this;
    }
    const { type, value } = given;
    if (type === "string") return this.string(value as string | Uint8Array);
    if (type === "bool") return this.u8(Number(value));
    const at = this.#grow(Number(type.slice(1)) / 8);
    const number = Number(value);
    if (type === "u8") this.#view.setUint8(at, number);
    else if (type === "i8") this.#view.setInt8(at, number);
    else if (type === "u16") this.#view.setUint16(at, number, this.littleEndian);
    else if (type === "i16") this.#view.setInt16(at, number, this.littleEndian);
    else if (type === "u32") this.#view.setUint32(at, number, this.littleEndian);
    else if (type === "i32") this.#view.setInt32(at, number, this.littleEndian);
    else if (type === "f32") this.#view.setFloat32(at, number, this.littleEndian);
    else if (type === "f64") this.#view.setFloat64(at, number, this.littleEndian);
    else this.#view.setBigUint64(at, BigInt.asUintN(64, BigInt(value as number | bigint)), this.littleEndian);
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

/** The bytes of a GGUF file as described, right or wrong. */
export function writeGguf(file: WrittenGguf): Uint8Array<ArrayBuffer> {
  const { entries = [], tensors = [], alignment = 32 } = file;
  const writer = new ByteWriter(!file.bigEndian);
  writer.raw(new TextEncoder().encode(file.magic ?? "GGUF")).u32(file.version ?? 3);
  writer.u64(file.tensorCount ?? tensors.length).u64(file.keyCount ?? entries.length);
  for (const [key, value] of entries) writer.string(key).u32(TYPE_NAMES.indexOf(value.type)).value(value);
  const data = new ByteWriter();
  for (const { name, type, shape, offset, data: bytes } of tensors) {
    writer.string(name).u32(shape.length);
    for (const size of shape) writer.u64(size);
    writer.u32(type).u64(offset ?? data.length);
    data.raw(bytes ?? new Uint8Array(tensorBytesOf(type, shape))).padTo(alignment);
  }
  writer.padTo(alignment).raw(data.bytes);
  return writer.bytes.slice(0, writer.length - (file.cut ?? 0));
}

/** Bytes of a well-formed tensor; 0 for types and shapes that are none. */
function tensorBytesOf(type: number, shape: readonly (number | bigint)[]): number {
  try {
    const { blockSize, blockBytes } = ggmlType(type);
    const bytes = (shape.reduce((product: number, size) => product * Number(size), 1) / blockSize) * blockBytes;
    return bytes > 0 && bytes < 1e6 ? Math.ceil(bytes) : 0;
  } catch {
    return 0;
  }
}
