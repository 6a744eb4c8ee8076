import { HalfbyteError } from "../../errors.ts";
import type { ByteSource } from "../byte-source.ts";
import { type GgmlType, ggmlType } from "../ggml/types.ts";
import { shown } from "../shown.ts";
import { decodeUtf8 } from "../utf8.ts";
import { HeaderReader } from "./header-reader.ts";
import * as limits from "./limits.ts";
import type { GgufEntry, GgufType } from "./metadata.ts";
import { elementBytes, typeOf } from "./value-types.ts";

const MAGIC = 0x46554747;
const DEFAULT_ALIGNMENT = 32;
/** A key's length, one byte, its type and a value of one byte. */
const SMALLEST_ENTRY_BYTES = 8 + 1 + 4 + 1;
/** A name's length, one byte, the number of dimensions, one dimension, type and offset. */
const SMALLEST_TENSOR_BYTES = 8 + 1 + 4 + 8 + 4 + 8;

/** A tensor's place in a file; matrices have N outputs of K inputs, K being the dimension whose elements are neighbours. */
export interface GgufTensor {
  readonly name: string;
  readonly type: GgmlType;
  /** As in the file: innermost dimension first. */
  readonly shape: readonly number[];
  readonly K: number;
  /** All other dimensions together. */
  readonly N: number;
  readonly source: ByteSource;
  /** From the start of the source. */
  readonly offset: number;
  readonly byteLength: number;
}

export interface GgufPart {
  readonly source: ByteSource;
  readonly version: 2 | 3;
  readonly alignment: number;
  readonly entries: ReadonlyMap<string, GgufEntry>;
  readonly tensors: ReadonlyMap<string, GgufTensor>;
}

/** Reads the header and the tensor table of one file and checks them against its size. */
export async function parsePart(source: ByteSource): Promise<GgufPart> {
  const reader = new HeaderReader(source);
  await reader.need(Math.min(8, source.size));
  const version = readVersion(reader);
  await reader.need(16);
  const tensorCount = boundedCount(reader, "tensors", limits.MAX_TENSORS, SMALLEST_TENSOR_BYTES);
  const keyCount = boundedCount(reader, "keys", limits.MAX_KEYS, SMALLEST_ENTRY_BYTES);

  const entries = new Map<string, GgufEntry>();
  let keptBytes = 0;
  for (let i = 0; i < keyCount; i++) {
    const start = reader.position;
    const entry = await readEntry(reader);
    if (entries.has(entry.key)) throw duplicate("key", entry.key, source, start);
    keptBytes += entry.key.length + (entry.type === "string" ? entry.bytes.byteLength : 0);
    if (keptBytes > limits.MAX_KEPT_BYTES) {
      throw new HalfbyteError("ERR_LIMIT", "too much text in keys and strings", {
        place: reader.place,
        expected: `at most ${limits.MAX_KEPT_BYTES} bytes`,
      });
    }
    entries.set(entry.key, entry);
  }

  const alignment = alignmentOf(entries.get("general.alignment"), source);
  const infos: TensorInfo[] = [];
  for (let i = 0; i < tensorCount; i++) infos.push(await readTensorInfo(reader));
  const dataStart = Math.ceil(reader.position / alignment) * alignment;
  return { source, version, alignment, entries, tensors: placeTensors(infos, dataStart, alignment, source) };
}

function readVersion(reader: HeaderReader): 2 | 3 {
  const { source } = reader;
  const magic = source.size >= 4 ? reader.u32() : undefined;
  if (magic !== MAGIC) {
    throw new HalfbyteError("ERR_FORMAT", "not a GGUF file", {
      place: source.name,
      expected: 'the bytes "GGUF" at its start',
      got: magic === undefined ? `a file of ${source.size} bytes` : `0x${magic.toString(16).padStart(8, "0")}`,
    });
  }
  const version = reader.u32();
  if (version === 2 || version === 3) return version;
  const bigEndian = version % 65536 === 0;
  throw new HalfbyteError("ERR_UNSUPPORTED", bigEndian ? "a big-endian GGUF file" : `GGUF version ${version}`, {
    place: source.name,
    expected: "little-endian GGUF of version 2 or 3",
    remedy: "convert the model again",
  });
}

/** A count that the rest of the file can hold. */
function boundedCount(reader: HeaderReader, what: string, limit: number, smallestBytes: number): number {
  const count = reader.count(`number of ${what}`, limit);
  if (count * smallestBytes > reader.remaining) {
    throw new HalfbyteError("ERR_TRUNCATED", `the file is too short for its number of ${what}`, {
      place: reader.name,
      expected: `at least ${count * smallestBytes} more bytes for ${count} ${what}`,
      got: String(reader.remaining),
    });
  }
  return count;
}

async function readText(reader: HeaderReader, what: string, limit: number): Promise<string> {
  await reader.need(8);
  const place = reader.place;
  const length = reader.count(`length of a ${what}`, limit);
  if (length === 0) throw new HalfbyteError("ERR_FORMAT", `empty ${what}`, { place });
  await reader.need(length);
  return decodeUtf8(reader.raw(length), place);
}

async function readEntry(reader: HeaderReader): Promise<GgufEntry> {
  const key = await readText(reader, "key", limits.MAX_KEY_BYTES);
  await reader.need(4);
  const type = typeOf(reader.u32(), `${reader.place}, key ${shown(key)}`);
  if (type === "array") {
    await reader.need(12);
    const elementType = typeOf(reader.u32(), `${reader.place}, key ${shown(key)}`);
    const length = reader.count("array length", limits.MAX_ARRAY_ELEMENTS);
    const offset = reader.position;
    await skipElements(reader, elementType, length, 1);
    return { key, type, elementType, length, offset, byteLength: reader.position - offset };
  }
  if (type === "string") {
    await reader.need(8);
    const length = reader.count("string length", limits.MAX_STRING_BYTES);
    await reader.need(length);
    return { key, type, bytes: reader.raw(length).slice() };
  }
  await reader.need(elementBytes(type)!);
  return type === "bool" ? { key, type, value: reader.bool() } : { key, type, value: reader[type]() };
}

/** Passes over the elements of an array; `depth` counts the arrays around them. */
async function skipElements(reader: HeaderReader, type: GgufType, count: number, depth: number): Promise<void> {
  if (type === "string") return reader.skipStrings(count);
  if (type !== "array") return reader.skip(count * elementBytes(type)!, "an array");
  if (depth >= limits.MAX_ARRAY_DEPTH) {
    throw new HalfbyteError("ERR_LIMIT", "arrays nest too deep", {
      place: reader.place,
      expected: `at most ${limits.MAX_ARRAY_DEPTH} levels`,
    });
  }
  for (let i = 0; i < count; i++) {
    const missing = reader.need(12);
    if (missing) await missing;
    const inner = typeOf(reader.u32(), reader.place);
    await skipElements(reader, inner, reader.count("array length", limits.MAX_ARRAY_ELEMENTS), depth + 1);
  }
}

function alignmentOf(entry: GgufEntry | undefined, source: ByteSource): number {
  if (!entry) return DEFAULT_ALIGNMENT;
  const alignment = entry.type === "u32" ? (entry.value as number) : 0;
  if (alignment === 0 || (alignment & (alignment - 1)) !== 0) {
    throw new HalfbyteError("ERR_FORMAT", "unusable alignment", {
      place: `${source.name}, key "general.alignment"`,
      expected: "a u32 that is a power of two",
      got: "value" in entry ? `${entry.type} ${entry.value}` : entry.type,
    });
  }
  return alignment;
}

type TensorInfo = Omit<GgufTensor, "source">;

async function readTensorInfo(reader: HeaderReader): Promise<TensorInfo> {
  const start = reader.place;
  const name = await readText(reader, "tensor name", limits.MAX_NAME_BYTES);
  const place = `${start}, tensor ${shown(name)}`;
  await reader.need(4);
  const dimensions = reader.u32();
  if (dimensions === 0 || dimensions > limits.MAX_DIMENSIONS) {
    throw new HalfbyteError(dimensions === 0 ? "ERR_FORMAT" : "ERR_LIMIT", "unusable number of dimensions", {
      place,
      expected: `1 to ${limits.MAX_DIMENSIONS}`,
      got: String(dimensions),
    });
  }
  await reader.need(dimensions * 8 + 12);
  const shape: number[] = [];
  for (let i = 0; i < dimensions; i++) shape.push(positiveDimension(reader.i64(), place));
  const type = ggmlType(reader.u32(), place);
  const offset = reader.u64();
  const [K, ...others] = shape as [number, ...number[]];
  if (K % type.blockSize !== 0) {
    throw new HalfbyteError("ERR_FORMAT", "rows are not whole blocks", {
      place,
      expected: `a first dimension that is a multiple of ${type.blockSize} for ${type.name}`,
      got: String(K),
    });
  }
  const N = others.reduce((product, size) => product * size, 1);
  const byteLength = (K / type.blockSize) * type.blockBytes * N;
  // Products of factors of at least 1: once past 2^53 they stay past it, rounded or not.
  if (!Number.isSafeInteger(byteLength) || !Number.isSafeInteger(K * N) || typeof offset === "bigint") {
    throw new HalfbyteError("ERR_LIMIT", "tensor larger than any file", {
      place,
      got: `${shape.join(" × ")} at ${offset}`,
    });
  }
  return { name, type, shape, K, N, offset, byteLength };
}

function positiveDimension(size: number | bigint, place: string): number {
  if (typeof size === "number" && size > 0) return size;
  throw new HalfbyteError(size > 0 ? "ERR_LIMIT" : "ERR_FORMAT", "unusable dimension", {
    place,
    expected: "1 or more, below 2^53",
    got: String(size),
  });
}

/** Turns offsets in the data into offsets in the file; no tensor may be outside it, between alignments or on another. */
function placeTensors(
  infos: readonly TensorInfo[],
  dataStart: number,
  alignment: number,
  source: ByteSource,
): ReadonlyMap<string, GgufTensor> {
  const tensors = new Map<string, GgufTensor>();
  const dataBytes = source.size - dataStart;
  for (const info of infos) {
    const place = `${source.name}, tensor ${shown(info.name)}`;
    if (tensors.has(info.name)) throw duplicate("tensor", info.name, source, dataStart);
    if (info.offset % alignment !== 0) {
      throw new HalfbyteError("ERR_FORMAT", "misaligned tensor", {
        place,
        expected: `an offset that is a multiple of ${alignment}`,
        got: String(info.offset),
      });
    }
    if (info.byteLength > dataBytes - info.offset) {
      throw new HalfbyteError("ERR_TRUNCATED", "the tensor ends after the file", {
        place,
        expected: `${info.byteLength} bytes at ${info.offset} of the data`,
        got: `data of ${Math.max(0, dataBytes)} bytes`,
        remedy: "the file looks cut: download it again",
      });
    }
    tensors.set(info.name, { ...info, source, offset: dataStart + info.offset });
  }
  const inOrder = [...tensors.values()].sort((a, b) => a.offset - b.offset);
  for (const [i, tensor] of inOrder.entries()) {
    const before = inOrder[i - 1];
    if (before && before.offset + before.byteLength > tensor.offset) {
      throw new HalfbyteError("ERR_FORMAT", `tensors ${shown(before.name)} and ${shown(tensor.name)} overlap`, {
        place: `${source.name} at byte ${tensor.offset}`,
      });
    }
  }
  return tensors;
}

function duplicate(what: string, name: string, source: ByteSource, position: number): HalfbyteError {
  return new HalfbyteError("ERR_FORMAT", `${what} ${shown(name)} occurs twice`, {
    place: `${source.name} at byte ${position}`,
  });
}
