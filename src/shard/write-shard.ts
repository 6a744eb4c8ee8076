import type { FolderEncoding } from "../convert/folder-form.ts";
import { otherFiles } from "../convert/folder-items.ts";
import { MANIFEST_FILE } from "../convert/model-files.ts";
import { vectorSource } from "../convert/outgoing.ts";
import { type FolderItem, type FolderTarget, planFolder } from "../convert/plan-folder.ts";
import { type OtherFile, writeFolder } from "../convert/write-folder.ts";
import type { OutputFolder, WriteOptions } from "../convert/writer.ts";
import type { HuggingFaceFolder } from "../formats/safetensors/hugging-face-folder.ts";
import { SHARD_KEY } from "../models/open-folder.ts";
import { openModel } from "../models/open-model.ts";
import { type Encoding, sortTensors } from "../models/quantized-tensors.ts";
import type { FloatType } from "../weights/quantized-matrix.ts";
import type { ShardOptions } from "./cuts.ts";
import { manifestJson } from "./manifest.ts";
import { type ModelShard, modelShard, type RankShare } from "./model-shard.ts";

export interface WriteShardOptions extends WriteOptions {
  /** Default: what the model's own matrices are in. */
  readonly to?: FolderTarget;
}

/** A rank's folder that was found possible; `write` makes it. */
export interface ShardFolder {
  readonly share: RankShare;
  /** Bytes of all tensors. */
  readonly bytes: number;
  write(folder: OutputFolder, options?: WriteOptions): Promise<void>;
}

/**
 * Plans the folder of one rank: its weights bit for bit, the model's own config.json and tokenizer, and `shard.json`, which
 * says what it has of the whole. Nothing is written yet.
 *
 * Throws what `modelShard` does, and ERR_UNSUPPORTED, with the first tensor as the place, where the encoding cannot hold
 * its share.
 */
export async function planShard(
  model: HuggingFaceFolder,
  rank: ShardOptions,
  { to, signal }: WriteShardOptions = {},
): Promise<ShardFolder> {
  const shard = modelShard(await openModel(model), rank);
  const plan = await planFolder(await shardItems(model, shard), to ?? ownEncoding(model), { signal });
  const config = { ...model.config, [SHARD_KEY]: { ...rank } };
  const others: Map<string, OtherFile> = await otherFiles(model);
  others.set(MANIFEST_FILE, manifestJson(shard));
  return {
    share: shard.share,
    bytes: plan.outgoing.reduce((sum, { tensors }) => tensors.reduce((s, { byteLength }) => s + byteLength, sum), 0),
    write: (folder, options) => writeFolder(folder, plan, config, others, options),
  };
}

async function shardItems(model: HuggingFaceFolder, shard: ModelShard): Promise<FolderItem[]> {
  const items: FolderItem[] = [];
  for (const [name, { parallel }] of shard.tensors) {
    const whole = parallel === "replicated" ? model.tensors.get(name) : undefined;
    // As it stands in the file: a norm's weights may mean 1 more.
    if (whole) items.push({ name, copy: whole });
    else if (name.endsWith(".bias")) {
      const values = await shard.vector(name);
      items.push({ name, matrix: vectorSource(name, values), shape: [values.length] });
    } else items.push({ name, matrix: shard.matrix(name) });
  }
  return items;
}

const FLOATS: Readonly<Record<string, FloatType>> = { F32: "f32", F16: "f16", BF16: "bf16" };

/** What most of a folder's matrices are in. */
function ownEncoding({ tensors, config }: HuggingFaceFolder): FolderTarget {
  const { quantized, plain } = sortTensors(tensors);
  const counts = new Map<FolderTarget, number>();
  const count = (target: FolderTarget | undefined): void => {
    if (target) counts.set(target, (counts.get(target) ?? 0) + 1);
  };
  for (const { encoding } of quantized.values()) count(folderEncoding(encoding, config));
  if (counts.size === 0) for (const { dtype } of plain.values()) count(FLOATS[dtype]);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? "f32";
}

function folderEncoding(encoding: Encoding, config: HuggingFaceFolder["config"]): FolderEncoding {
  if (encoding === "gptq") return /"checkpoint_format":"gptq_v2"/.test(JSON.stringify(config)) ? "gptq_v2" : "gptq";
  return encoding === "pack-quantized" || encoding === "int-quantized" ? "compressed-tensors" : encoding;
}
