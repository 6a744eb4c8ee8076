import type { GgufEntry, GgufMetadata, GgufType } from "../formats/gguf/metadata.ts";
import { ByteWriter } from "./byte-writer.ts";
import { type ByteSink, type GgufHeader, type Outgoing, type WriteOptions, writeAll } from "./writer.ts";

type Scalar = Exclude<GgufType, "string" | "array">;

/** A key of a GGUF file to be. */
export type GgufValueOut =
  | { readonly type: Scalar; readonly value: number | bigint | boolean }
  | { readonly type: "string"; readonly value: string | Uint8Array }
  | { readonly type: "array"; readonly of: "string"; readonly value: readonly string[] }
  | { readonly type: "array"; readonly of: Scalar; readonly value: ArrayLike<number> }
  /** Elements as another file has them. */
  | { readonly type: "array"; readonly of: GgufType; readonly length: number; readonly bytes: Uint8Array };

export type GgufEntries = ReadonlyMap<string, GgufValueOut>;

const ALIGNMENT = 32;
const VERSION = 3;

/**
 * Writes a GGUF file, version 3, tensors aligned to 32 bytes; `general.alignment` is left out of the keys.
 *
 * Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 */
export async function writeGguf(
  sink: ByteSink,
  entries: GgufEntries,
  outgoing: readonly Outgoing<GgufHeader>[],
  options: WriteOptions = {},
): Promise<void> {
  const tensors = outgoing.flatMap((each) => each.tensors);
  const keys = [...entries].filter(([key]) => key !== "general.alignment");
  const writer = new ByteWriter();
  writer.raw(new TextEncoder().encode("GGUF")).u32(VERSION).u64(tensors.length).u64(keys.length);
  for (const [key, value] of keys) writeEntry(writer, key, value);
  const offsets = new Map<string, number>();
  let end = 0;
  for (const { name, type, shape, byteLength } of tensors) {
    writer.text(name).u32(shape.length);
    for (const size of shape) writer.u64(size);
    writer.u32(type.id).u64(end);
    offsets.set(name, end);
    end = aligned(end + byteLength);
  }
  const header = writer.padTo(ALIGNMENT).bytes;
  await sink.write(0, header);
  await writeAll(outgoing, (name) => ({ sink, offset: header.byteLength + offsets.get(name)! }), options);
  // Readers that check sizes want the padding of the last tensor too.
  const last = tensors.at(-1);
  const rest = last ? end - offsets.get(last.name)! - last.byteLength : 0;
  if (rest > 0) await sink.write(header.byteLength + end - rest, new Uint8Array(rest));
}

function aligned(offset: number): number {
  return Math.ceil(offset / ALIGNMENT) * ALIGNMENT;
}

/** By number, as files have them. */
const TYPES: readonly GgufType[] = [
  ...(["u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"] as const),
];

function writeEntry(writer: ByteWriter, key: string, entry: GgufValueOut): void {
  writer.text(key).u32(TYPES.indexOf(entry.type));
  if (entry.type === "string") writer.text(entry.value);
  else if (entry.type !== "array") writer.number(entry.type, entry.value);
  else if ("bytes" in entry) writer.u32(TYPES.indexOf(entry.of)).u64(entry.length).raw(entry.bytes);
  else {
    writer.u32(TYPES.indexOf(entry.of)).u64(entry.value.length);
    if (entry.of === "string") for (const text of entry.value as readonly string[]) writer.text(text);
    else for (let i = 0; i < entry.value.length; i++) writer.number(entry.of, entry.value[i] as number);
  }
}

/** All keys of a file, as it has them. */
export async function copiedEntries(metadata: GgufMetadata): Promise<Map<string, GgufValueOut>> {
  const entries = new Map<string, GgufValueOut>();
  for (const entry of metadata) entries.set(entry.key, await copied(metadata, entry));
  return entries;
}

async function copied(metadata: GgufMetadata, entry: GgufEntry): Promise<GgufValueOut> {
  if (entry.type === "string") return { type: "string", value: entry.bytes };
  if (entry.type !== "array") return { type: entry.type, value: entry.value };
  const { elementType: of, length } = entry;
  return { type: "array", of, length, bytes: await metadata.elementBytes(entry.key) };
}
