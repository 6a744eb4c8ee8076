import { elementBytes } from "../formats/encodings/tensors.ts";
import {
  type ByteSink,
  type Outgoing,
  type OutputFolder,
  type SafetensorsHeader,
  type WriteOptions,
  writeAll,
} from "./writer.ts";

/** What transformers cuts at. */
const MAX_SHARD_BYTES: number = 5_000_000_000;

export interface SafetensorsWriteOptions extends WriteOptions {
  /** Tensors of one file, 5 GB when absent; a single matrix may be larger. */
  readonly maxShardBytes?: number;
}

/**
 * Writes `model.safetensors`, or several files with `model.safetensors.index.json` where one would be too large. The
 * tensors of one matrix stay in one file.
 *
 * Format: https://huggingface.co/docs/safetensors
 */
export async function writeSafetensors(
  folder: OutputFolder,
  outgoing: readonly Outgoing<SafetensorsHeader>[],
  options: SafetensorsWriteOptions = {},
): Promise<void> {
  const shards = intoShards(outgoing, options.maxShardBytes ?? MAX_SHARD_BYTES);
  const places = new Map<string, { sink: ByteSink; offset: number }>();
  const weightMap: Record<string, string> = {};
  let total = 0;
  for (const [i, tensors] of shards.entries()) {
    const fileName =
      shards.length === 1 ? "model.safetensors" : `model-${digits(i + 1)}-of-${digits(shards.length)}.safetensors`;
    const sink = await folder.file(fileName);
    const { header, offsets } = headerOf(tensors);
    await sink.write(0, header);
    for (const [name, offset] of offsets) {
      places.set(name, { sink, offset: header.byteLength + offset });
      weightMap[name] = fileName;
    }
    total += tensors.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }
  await writeAll(outgoing, (name) => places.get(name)!, options);
  if (shards.length === 1) return;
  const sorted = Object.fromEntries(Object.entries(weightMap).sort(([a], [b]) => (a < b ? -1 : 1)));
  await writeJson(folder, "model.safetensors.index.json", { metadata: { total_size: total }, weight_map: sorted });
}

/** A file of JSON as transformers lays it out. */
export async function writeJson(folder: OutputFolder, fileName: string, value: unknown): Promise<void> {
  const text = `${JSON.stringify(value, undefined, 2)}\n`;
  await (await folder.file(fileName)).write(0, new TextEncoder().encode(text));
}

function intoShards(
  outgoing: readonly Outgoing<SafetensorsHeader>[],
  maxShardBytes: number,
): (readonly SafetensorsHeader[])[] {
  const shards: SafetensorsHeader[][] = [[]];
  let filled = 0;
  for (const { tensors } of outgoing) {
    const bytes = tensors.reduce((sum, { byteLength }) => sum + byteLength, 0);
    if (filled > 0 && filled + bytes > maxShardBytes) {
      shards.push([]);
      filled = 0;
    }
    shards.at(-1)!.push(...tensors);
    filled += bytes;
  }
  return shards;
}

/** Tensors with larger elements come first and the header is padded, so that each tensor is aligned to its elements. */
function headerOf(tensors: readonly SafetensorsHeader[]): { header: Uint8Array; offsets: Map<string, number> } {
  const offsets = new Map<string, number>();
  const entries: [string, object][] = [["__metadata__", { format: "pt" }]];
  let at = 0;
  for (const { name, dtype, shape, byteLength } of tensors.toSorted((a, b) => elementBytes(b) - elementBytes(a))) {
    offsets.set(name, at);
    entries.push([name, { dtype, shape, data_offsets: [at, at + byteLength] }]);
    at += byteLength;
  }
  // Object.fromEntries keeps a tensor called __proto__.
  const json = new TextEncoder().encode(JSON.stringify(Object.fromEntries(entries)));
  const header = new Uint8Array(8 + Math.ceil(json.byteLength / 8) * 8).fill(0x20);
  new DataView(header.buffer).setBigUint64(0, BigInt(header.byteLength - 8), true);
  header.set(json, 8);
  return { header, offsets };
}

function digits(n: number): string {
  return String(n).padStart(5, "0");
}
