import { HalfbyteError } from "../errors.ts";
import type { GgmlType } from "../formats/ggml/types.ts";
import type { GgufMetadata } from "../formats/gguf/metadata.ts";
import type { GgufFile } from "../formats/gguf/open-gguf.ts";
import { ggufMatrix } from "../formats/read-tensor.ts";
import type { HuggingFaceFolder } from "../formats/safetensors/hugging-face-folder.ts";
import { openModel } from "../models/open-model.ts";
import type { FloatType } from "../weights/quantized-matrix.ts";
import { fileType, measured } from "./file-facts.ts";
import { FOLDER_ENCODINGS, vouchedForm } from "./folder-form.ts";
import { folderItems, otherFiles } from "./folder-items.ts";
import { GGUF_ENCODINGS, type GgufEncoding } from "./ggml-form.ts";
import { vectorSource } from "./outgoing.ts";
import { type FolderTarget, type PlanOptions, planFolder } from "./plan-folder.ts";
import { type GgufItem, planGguf } from "./plan-gguf.ts";
import { writeFolder } from "./write-folder.ts";
import { copiedEntries, type GgufEntries, writeGguf } from "./write-gguf.ts";
import type { ByteSink, OutgoingHeader, OutputFolder, WriteOptions } from "./writer.ts";

export type ConversionTarget =
  | { readonly format: "folder"; readonly encoding: FolderTarget }
  /** Without an encoding each matrix gets the smallest type that holds it. */
  | { readonly format: "gguf"; readonly encoding: GgufEncoding | undefined };

/** A conversion that was found possible; `write` does it. */
export type Conversion = {
  readonly tensors: readonly OutgoingHeader[];
  /** Bytes of all tensors. */
  readonly bytes: number;
  /** Matrices that lose something; none unless `lossy`. */
  readonly rounded: readonly string[];
  readonly notes: readonly string[];
} & (
  | { readonly format: "folder"; write(folder: OutputFolder, options?: WriteOptions): Promise<void> }
  | { readonly format: "gguf"; write(sink: ByteSink, options?: WriteOptions): Promise<void> }
);

const CONVERSION_TARGETS: readonly string[] = [
  ...FOLDER_ENCODINGS,
  "f16",
  "bf16",
  "f32",
  "gguf",
  ...GGUF_ENCODINGS.map((encoding) => `gguf:${encoding.toLowerCase()}`),
];

/** What `--to` names. Throws ERR_ARGUMENT for a name that is none, with the list. */
export function conversionTarget(name: string): ConversionTarget {
  const [format, type] = name.toLowerCase().split(":");
  const folder = [...FOLDER_ENCODINGS, ...(["f16", "bf16", "f32"] satisfies FloatType[])].find((each) => each === name);
  if (folder) return { format: "folder", encoding: folder };
  const encoding = GGUF_ENCODINGS.find((each) => each.toLowerCase() === type);
  if (format === "gguf" && (type === undefined || encoding)) return { format: "gguf", encoding };
  throw new HalfbyteError("ERR_ARGUMENT", "no such encoding", {
    expected: CONVERSION_TARGETS.join(", "),
    got: name.slice(0, 100),
  });
}

/**
 * Looks at every weight of a model and plans how it is written in another encoding; nothing is written yet. Weights keep
 * their values bit for bit. The file stays open, and the caller's.
 *
 * Throws ERR_UNSUPPORTED, with the first tensor as the place and the reason, where the target cannot hold one (with `lossy`
 * it is rounded instead), and what opening the model throws.
 */
export async function planConversion(
  file: GgufFile | HuggingFaceFolder,
  target: ConversionTarget,
  options: PlanOptions = {},
): Promise<Conversion> {
  if ("metadata" in file)
    return target.format === "gguf"
      ? ggufToGguf(file, target.encoding, options)
      : (await import("./gguf-to-folder.ts")).ggufToFolder(file, target.encoding, options);
  return target.format === "folder"
    ? folderToFolder(file, target.encoding, options)
    : (await import("./folder-to-gguf.ts")).folderToGguf(file, target.encoding, options);
}

async function folderToFolder(
  file: HuggingFaceFolder,
  target: FolderTarget,
  options: PlanOptions,
): Promise<Conversion> {
  const unchecked = await checkRunnable(file);
  const { items, notes } = await folderItems(file, options.changes);
  const plan = await planFolder(items, target, options);
  const others = await otherFiles(file);
  const config = withFloatType(file.config, target);
  return {
    format: "folder",
    ...measured(plan.outgoing),
    rounded: plan.rounded,
    notes: [...unchecked, ...notes.lines(), ...plan.notes],
    write: (folder, writeOptions) => writeFolder(folder, plan, config, others, writeOptions),
  };
}

/**
 * Throws what `run` would for a model that is broken or a rank's share of one; of an architecture Halfbyte does not know the
 * note that is returned says that it was not looked at.
 */
async function checkRunnable(file: HuggingFaceFolder): Promise<string[]> {
  try {
    (await openModel(file)).compile();
    return [];
  } catch (error) {
    if (!(error instanceof HalfbyteError) || error.code !== "ERR_UNKNOWN_ARCHITECTURE") throw error;
    return [`not checked whether this is a whole model: ${error.message}`];
  }
}

const FLOAT_NAMES: Record<FloatType, string> = { f16: "float16", bf16: "bfloat16", f32: "float32" };

/** What config.json says of the type of floats, in either of its spellings. */
function withFloatType(config: HuggingFaceFolder["config"], target: FolderTarget): HuggingFaceFolder["config"] {
  const name = FLOAT_NAMES[target as FloatType];
  if (!name) return config;
  return { ...config, [Object.hasOwn(config, "dtype") ? "dtype" : "torch_dtype"]: name };
}

async function ggufToGguf(
  file: GgufFile,
  encoding: GgufEncoding | undefined,
  options: PlanOptions,
): Promise<Conversion> {
  const items = [...file.tensors.values()].map((tensor): GgufItem => {
    const { name, shape, N } = tensor;
    const vector = N === 1 ? options.changes?.vector(name) : undefined;
    if (vector) return { name, vector: vectorSource(name, vector) };
    const changed = N > 1 && options.changes?.matrix(ggufMatrix(tensor));
    if (changed && vouchedForm(changed)) return { name, matrix: changed, shape };
    const stays = encoding === undefined || N === 1 || !name.endsWith(".weight");
    return stays ? { name, copy: tensor } : { name, matrix: ggufMatrix(tensor), shape };
  });
  const plan = await planGguf(items, encoding, options);
  const entries = await ggufEntries(file.metadata, encoding && plan.commonest);
  return {
    format: "gguf",
    ...measured(plan.outgoing),
    rounded: plan.rounded,
    notes: plan.notes,
    write: (sink, writeOptions) => writeGguf(sink, entries, plan.outgoing, writeOptions),
  };
}

/** A file's own keys, but for its place in a split model, which becomes one file. */
async function ggufEntries(metadata: GgufMetadata, commonest: GgmlType | undefined): Promise<GgufEntries> {
  const entries = await copiedEntries(metadata);
  for (const key of ["split.no", "split.count", "split.tensors.count"]) entries.delete(key);
  const number = commonest && fileType(commonest);
  if (number !== undefined) entries.set("general.file_type", { type: "u32", value: number });
  return entries;
}
