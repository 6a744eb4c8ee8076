import { MANIFEST_FILE } from "../convert/model-files.ts";
import { HalfbyteError } from "../errors.ts";
import type { GgufFile } from "../formats/gguf/open-gguf.ts";
import type { HuggingFaceFolder } from "../formats/safetensors/hugging-face-folder.ts";
import type { LoadModelOptions, ModelInput } from "../load-model.ts";
import { openFolderModel, SHARD_KEY } from "../models/open-folder.ts";
import { type OpenModelOptions, openModel } from "../models/open-model.ts";
import { checkRank, type ShardOptions } from "./cuts.ts";
import { readManifest } from "./manifest.ts";
import { type ModelShard, modelShard, rankConfig } from "./model-shard.ts";

export interface LoadShardOptions
  extends Pick<LoadModelOptions, "floatWeights" | "contextLength" | "signal" | "onProgress" | "environment"> {
  /** Which of the ranks that share the model. */
  readonly shard: ShardOptions;
}

/** A rank's share of a model, and the files it is read from. */
export interface LoadedShard extends ModelShard, AsyncDisposable {
  /** Closes the files. */
  close(): Promise<void>;
}

/** Takes a rank's share of a GGUF file, or of all files of a split one. */
export async function loadGgufShard(
  inputs: ModelInput | readonly ModelInput[],
  options: LoadShardOptions,
): Promise<LoadedShard> {
  checkRank(options.shard);
  const { openInputs } = await import("../load-model.ts");
  return shardOfFile(await openInputs(inputs, options.signal), options);
}

/** Takes a rank's share of a file, or of a folder that has that share alone. Closes the file if it throws. */
export async function shardOfFile(
  file: GgufFile | HuggingFaceFolder,
  { shard, floatWeights = "keep", contextLength }: LoadShardOptions,
): Promise<LoadedShard> {
  try {
    checkRank(shard);
    const isShare = "config" in file && Object.hasOwn(file.config, SHARD_KEY);
    const loaded = isShare
      ? await writtenShard(file, shard, { floatWeights, contextLength })
      : modelShard(await openModel(file, { floatWeights, contextLength }), shard);
    const close = (): Promise<void> => file.close();
    return { ...loaded, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function writtenShard(
  folder: HuggingFaceFolder,
  { rank, of }: ShardOptions,
  { floatWeights, contextLength }: Required<Pick<OpenModelOptions, "floatWeights">> & OpenModelOptions,
): Promise<ModelShard> {
  const { share, tensors } = readManifest(await folder.json(MANIFEST_FILE));
  if (share.rank !== rank || share.of !== of)
    throw new HalfbyteError("ERR_ARGUMENT", "the folder has another rank's share", {
      place: MANIFEST_FILE,
      expected: `rank ${rank} of ${of}`,
      got: `rank ${share.rank} of ${share.of}`,
    });
  let whole: ModelShard["config"] | undefined;
  const model = await openFolderModel(
    folder,
    floatWeights,
    (config) => rankConfig((whole = config), share),
    contextLength,
  );
  // Throws where the tensors do not have the sizes that the manifest says.
  model.compile();
  const { weights } = model;
  const absent = (name: string): never => {
    throw new HalfbyteError("ERR_MISSING", "the shard has no such tensor", { place: name });
  };
  for (const name of [...weights.layouts.keys(), ...weights.vectorLengths.keys()])
    if (!tensors.has(name)) throw new HalfbyteError("ERR_MISSING", "the manifest lacks a tensor", { place: name });
  return {
    architecture: model.architecture.name,
    config: whole!,
    share,
    graph: model.graph,
    tensors,
    notes: model.notes,
    matrix: (name) => (weights.layouts.has(name) ? weights.matrix(name) : absent(name)),
    vector: async (name) => (weights.vectorLengths.has(name) ? weights.vector(name) : absent(name)),
  };
}
