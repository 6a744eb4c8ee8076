import { HalfbyteError } from "../errors.ts";
import type { GgufValue } from "../formats/gguf/arrays.ts";
import type { GgufEntry, GgufMetadata } from "../formats/gguf/metadata.ts";
import type { GgufFile } from "../formats/gguf/open-gguf.ts";
import type { HuggingFaceFolder } from "../formats/safetensors/hugging-face-folder.ts";
import type { FloatWeights } from "../models/checkpoint-store.ts";
import type { DecoderConfig } from "../models/decoder-config.ts";
import { type OpenModel, openModel } from "../models/open-model.ts";
import { type ActivationMode, BLOCK_TOKENS, type CacheType, type Plan } from "../plan/plan.ts";
import type { PackedLayout } from "../weights/packed-layout.ts";

/** Longer arrays are shown by type and length. */
const MAX_SHOWN_ELEMENTS = 16;

export interface TensorRow {
  readonly name: string;
  readonly type: string;
  /** Outermost dimension first: [outputs, inputs] for a matrix. */
  readonly shape: readonly number[];
  readonly bytes: number;
  /** How it stands in memory; absent for what no step uses or runs cannot be told of. */
  readonly packed?: string;
  readonly packedBytes?: number;
}

interface MemoryNeed {
  readonly weightBytes: number;
  readonly cacheBytesPer1000Tokens: number;
  readonly contextLength: number;
  readonly cacheBytes: number;
  readonly arenaBytes: number;
  readonly totalBytes: number;
}

export interface Inspection {
  readonly format: string;
  readonly fileBytes: number;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly tensors: readonly TensorRow[];
  /** Numbers in all tensors of the file. */
  readonly parameters: number;
  /** Why the model cannot run here, where it cannot; all that follows is then absent. */
  readonly refusal?: HalfbyteError;
  readonly architecture?: string;
  readonly config?: DecoderConfig;
  readonly plan?: Plan;
  readonly bitsPerWeight?: number;
  readonly memory?: MemoryNeed;
  /** What a reader of the file should know: see OpenModel. */
  readonly notes?: readonly string[];
}

export interface InspectionOptions {
  readonly activations?: ActivationMode;
  readonly cacheType?: CacheType;
  readonly floatWeights?: FloatWeights;
  readonly context?: number;
}

/** What can be told of a model without reading its weights. */
export async function examine(file: GgufFile | HuggingFaceFolder, options: InspectionOptions): Promise<Inspection> {
  const tensors = "metadata" in file ? ggufRows(file) : safetensorsRows(file);
  const metadata = "metadata" in file ? await ggufMetadata(file.metadata) : { ...file.config };
  const parameters = tensors.reduce((sum, { shape }) => sum + product(shape), 0);
  const format = "metadata" in file ? `GGUF v${file.version}` : "safetensors";
  const sources = "metadata" in file ? file.sources : new Set([...file.tensors.values()].map(({ source }) => source));
  const fileBytes = [...sources].reduce((sum, { size }) => sum + size, 0);
  const known = { format, fileBytes, metadata, tensors, parameters };
  try {
    const opened = await openModel(file, { floatWeights: options.floatWeights ?? "keep" });
    return { ...known, ...compiled(opened, tensors, options) };
  } catch (error) {
    if (error instanceof HalfbyteError && error.code !== "ERR_IO") return { ...known, refusal: error };
    throw error;
  }
}

function compiled(opened: OpenModel, tensors: readonly TensorRow[], options: InspectionOptions): Partial<Inspection> {
  const { activations = "a8", cacheType = "f16" } = options;
  const plan = opened.compile({ activations, cacheType });
  const { config } = opened;
  const layouts = new Map(plan.matrices.map(({ name, layout }) => [name, layout]));
  const vectors = new Map(plan.vectors.map(({ name, length }) => [name, length]));
  const rows = tensors.map((row): TensorRow => {
    const layout = layouts.get(row.name);
    if (layout) return { ...row, packed: describeLayout(layout), packedBytes: layout.byteLength };
    const length = vectors.get(row.name);
    return length === undefined ? row : { ...row, packed: "f32", packedBytes: length * 4 };
  });
  const memory = memoryNeed(plan, options.context ?? config.contextLength);
  const inMatrices = plan.matrices.reduce((sum, { layout }) => sum + layout.N * layout.K, 0);
  const used = plan.vectors.reduce((sum, { length }) => sum + length, inMatrices);
  const bitsPerWeight = (memory.weightBytes * 8) / used;
  const { notes } = opened;
  return { tensors: rows, architecture: opened.architecture.name, config, plan, bitsPerWeight, memory, notes };
}

function memoryNeed({ matrices, vectors, cache, arenaBytes }: Plan, contextLength: number): MemoryNeed {
  const weightBytes = matrices.reduce((sum, { layout }) => sum + layout.byteLength, 0);
  const vectorBytes = vectors.reduce((sum, { length }) => sum + length * 4, 0);
  const cacheBytesPer1000Tokens = (cache.blockBytes / BLOCK_TOKENS) * 1000;
  const cacheBytes = Math.ceil(contextLength / BLOCK_TOKENS) * cache.blockBytes;
  const totalBytes = weightBytes + vectorBytes + cacheBytes + arenaBytes;
  return { weightBytes, cacheBytesPer1000Tokens, contextLength, cacheBytes, arenaBytes, totalBytes };
}

/** `4-bit codes, f16 scales and offsets per 32`: what the packed layout keeps. */
function describeLayout(layout: PackedLayout): string {
  if (layout.kind === "float") return layout.type;
  const { bits, scale, offset, zero, groupSize, codeBook, K } = layout;
  const values = [
    `${scale} scales`,
    offset && `${offset} offsets`,
    zero === "u8" && "u8 zeros",
    codeBook && "code book",
  ];
  return `${bits}-bit, ${values.filter(Boolean).join(", ")} per ${groupSize === K ? "output" : groupSize}`;
}

function ggufRows({ tensors }: GgufFile): TensorRow[] {
  return [...tensors.values()].map(({ name, type, shape, byteLength }) => ({
    name,
    type: type.name,
    shape: shape.toReversed(),
    bytes: byteLength,
  }));
}

function safetensorsRows({ tensors }: HuggingFaceFolder): TensorRow[] {
  return [...tensors.values()].map(({ name, dtype, shape, byteLength }) => ({
    name,
    type: dtype,
    shape,
    bytes: byteLength,
  }));
}

async function ggufMetadata(metadata: GgufMetadata): Promise<Record<string, unknown>> {
  // A key may be called __proto__.
  const values: Record<string, unknown> = Object.create(null);
  for (const entry of metadata) values[entry.key] = await entryValue(metadata, entry);
  return values;
}

async function entryValue(metadata: GgufMetadata, entry: GgufEntry): Promise<unknown> {
  if (entry.type === "string") return new TextDecoder().decode(entry.bytes);
  if (entry.type !== "array") return plainNumber(entry.value);
  if (entry.length > MAX_SHOWN_ELEMENTS || entry.elementType === "array")
    return { arrayOf: entry.elementType, length: entry.length };
  return (await metadata.array(entry.key)).map(plainNumber);
}

/** JSON has no 64-bit integers: those past 2^53 become text. */
function plainNumber(value: GgufValue): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

function product(shape: readonly number[]): number {
  return shape.reduce((total, size) => total * size, 1);
}
