import { HalfbyteError } from "../../errors.ts";
import { type ByteSource, readBytes } from "../byte-source.ts";
import { shown } from "../shown.ts";
import { decodeUtf8 } from "../utf8.ts";
import { type HeaderValue, parseHeaderJson } from "./header-json.ts";

/** The bound of the reference implementation. */
const MAX_HEADER_BYTES = 100_000_000;
/** Files in use have at most some ten thousand; this bounds the memory of a table to some tens of megabytes. */
const MAX_TENSORS = 262_144;

/** Bits of an element. */
const DTYPE_BITS = {
  BOOL: 8,
  F4: 4,
  F6_E2M3: 6,
  F6_E3M2: 6,
  U8: 8,
  I8: 8,
  F8_E5M2: 8,
  F8_E4M3: 8,
  F8_E8M0: 8,
  F8_E4M3FNUZ: 8,
  F8_E5M2FNUZ: 8,
  I16: 16,
  U16: 16,
  F16: 16,
  BF16: 16,
  I32: 32,
  U32: 32,
  F32: 32,
  C64: 64,
  F64: 64,
  I64: 64,
  U64: 64,
} as const;

export type SafetensorsDtype = keyof typeof DTYPE_BITS;

/** A tensor's place in a file. */
export interface SafetensorsTensor {
  readonly name: string;
  readonly dtype: SafetensorsDtype;
  /** Outermost dimension first, as PyTorch shows it; [N, K] for a matrix. */
  readonly shape: readonly number[];
  readonly source: ByteSource;
  /** From the start of the source. */
  readonly offset: number;
  readonly byteLength: number;
}

export interface SafetensorsFile {
  /** What the file says under `__metadata__`. */
  readonly metadata: ReadonlyMap<string, string>;
  readonly tensors: ReadonlyMap<string, SafetensorsTensor>;
}

/**
 * Reads the header of one safetensors file and checks it against the file's size, as strictly as the reference
 * implementation: tensors fill the data without holes, overlaps or a rest, sizes follow from type and shape, and no name
 * occurs twice. Throws ERR_FORMAT, ERR_TRUNCATED, ERR_LIMIT or ERR_UNSUPPORTED; the caller closes the source.
 *
 * Format: https://huggingface.co/docs/safetensors
 */
export async function openSafetensors(source: ByteSource): Promise<SafetensorsFile> {
  const place = source.name;
  if (source.size < 8) {
    throw new HalfbyteError("ERR_TRUNCATED", "too short for a safetensors file", {
      place,
      got: `${source.size} bytes`,
    });
  }
  const start = await readBytes(source, 0, 8);
  const headerBytes = new DataView(start.buffer).getBigUint64(0, true);
  if (headerBytes > MAX_HEADER_BYTES) {
    throw new HalfbyteError("ERR_LIMIT", "absurd header length; is this a safetensors file?", {
      place,
      expected: `at most ${MAX_HEADER_BYTES}`,
      got: String(headerBytes),
    });
  }
  const dataStart = 8 + Number(headerBytes);
  if (dataStart > source.size) {
    throw new HalfbyteError("ERR_TRUNCATED", "the file ends inside its header", {
      place,
      expected: `${dataStart} bytes`,
      got: String(source.size),
    });
  }
  const text = decodeUtf8(await readBytes(source, 8, dataStart - 8), place);
  if (!text.startsWith("{")) {
    throw new HalfbyteError("ERR_FORMAT", "not a safetensors file", { place, expected: "a header that begins with {" });
  }
  return tablesOf(parseHeaderJson(text, place) as Map<string, HeaderValue>, source, dataStart);
}

function tablesOf(header: Map<string, HeaderValue>, source: ByteSource, dataStart: number): SafetensorsFile {
  if (header.size > MAX_TENSORS) {
    throw new HalfbyteError("ERR_LIMIT", "too many tensors", {
      place: source.name,
      expected: `at most ${MAX_TENSORS}`,
      got: String(header.size),
    });
  }
  const metadata = metadataOf(header.get("__metadata__"), source.name);
  const tensors = new Map<string, SafetensorsTensor>();
  for (const [name, info] of header) {
    if (name !== "__metadata__") tensors.set(name, tensorOf(name, info, source, dataStart));
  }
  let end = dataStart;
  const inOrder = [...tensors.values()].sort((a, b) => a.offset - b.offset || a.byteLength - b.byteLength);
  for (const { name, offset, byteLength } of inOrder) {
    if (offset !== end) {
      throw new HalfbyteError("ERR_FORMAT", offset < end ? "the tensor overlaps another" : "a hole before the tensor", {
        place: `${source.name}, tensor ${shown(name)}`,
        expected: `data_offsets that begin at ${end - dataStart}`,
        got: String(offset - dataStart),
      });
    }
    end += byteLength;
  }
  if (end !== source.size) {
    const cut = end > source.size;
    throw new HalfbyteError(
      cut ? "ERR_TRUNCATED" : "ERR_FORMAT",
      cut ? "the file is cut" : "bytes after the last tensor",
      {
        place: source.name,
        expected: `${end} bytes`,
        got: String(source.size),
        ...(cut && { remedy: "download it again" }),
      },
    );
  }
  return { metadata, tensors };
}

function metadataOf(value: HeaderValue | undefined, place: string): ReadonlyMap<string, string> {
  if (value === undefined || value === null) return new Map();
  if (value instanceof Map && [...value.values()].every((text) => typeof text === "string")) {
    return value as Map<string, string>;
  }
  throw new HalfbyteError("ERR_FORMAT", "__metadata__ is not an object of strings", { place });
}

function tensorOf(name: string, info: HeaderValue, source: ByteSource, dataStart: number): SafetensorsTensor {
  const place = `${source.name}, tensor ${shown(name)}`;
  const field = (key: string): HeaderValue | undefined => (info instanceof Map ? info.get(key) : undefined);
  const dtype = field("dtype");
  const shape = indexes(field("shape"));
  const offsets = indexes(field("data_offsets"));
  if (typeof dtype !== "string" || !shape || offsets?.length !== 2) {
    throw new HalfbyteError("ERR_FORMAT", "not a tensor's description", {
      place,
      expected: "dtype, shape and two data_offsets, integers below 2^53",
    });
  }
  if (!Object.hasOwn(DTYPE_BITS, dtype)) {
    throw new HalfbyteError("ERR_UNSUPPORTED", "unknown dtype", { place, got: shown(dtype) });
  }
  const elements = product(shape);
  const bits = elements * DTYPE_BITS[dtype as SafetensorsDtype];
  if (!Number.isSafeInteger(bits)) {
    throw new HalfbyteError("ERR_LIMIT", "tensor larger than any file", { place, got: shown(`[${shape}]`) });
  }
  const [from, to] = offsets as [number, number];
  if (to - from !== bits / 8) {
    throw new HalfbyteError("ERR_FORMAT", "data_offsets do not fit dtype and shape", {
      place,
      expected: `${bits / 8} bytes for ${dtype} ${shown(`[${shape}]`)}`,
      got: `${to - from}`,
    });
  }
  return { name, dtype: dtype as SafetensorsDtype, shape, source, offset: dataStart + from, byteLength: to - from };
}

/** A list of safe non-negative integers, or undefined. */
function indexes(value: HeaderValue | undefined): number[] | undefined {
  if (!Array.isArray(value) || !value.every((item) => Number.isSafeInteger(item))) return undefined;
  return value as number[];
}

/** NaN as soon as a partial product passes 2^53, so that no later factor of 0 hides it. */
function product(shape: readonly number[]): number {
  return shape.reduce((total, size) => (Number.isSafeInteger(total * size) ? total * size : Number.NaN), 1);
}
