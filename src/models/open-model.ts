import type { GgufFile } from "../formats/gguf/open-gguf.ts";
import type { HuggingFaceFolder } from "../formats/safetensors/hugging-face-folder.ts";
import { assemble, type OpenModel } from "./assemble.ts";
import type { FloatWeights } from "./checkpoint-store.ts";
import { splitFused } from "./fused-tensors.ts";
import { ggufModelFile } from "./gguf-config.ts";
import { ggufStore } from "./gguf-store.ts";
import { architectureOfGguf } from "./registry.ts";
import { ggufNames } from "./tensor-names.ts";

export type { OpenModel } from "./assemble.ts";

export interface OpenModelOptions {
  /** Float matrices of a safetensors checkpoint; default "keep". */
  readonly floatWeights?: FloatWeights;
  /** Positions that will be used at most: some models turn heads otherwise where they are few. Default: all they have. */
  readonly contextLength?: number | undefined;
}

/**
 * Reads a model's configuration and finds its weights; none is read before an executor loads them. The file stays open
 * and the caller's.
 *
 * Throws ERR_UNKNOWN_ARCHITECTURE, ERR_UNSUPPORTED, ERR_MISSING, ERR_SHAPE, ERR_FORMAT or ERR_LIMIT, with the key or
 * tensor as the place.
 */
export async function openModel(
  file: GgufFile | HuggingFaceFolder,
  options: OpenModelOptions = {},
): Promise<OpenModel> {
  if ("metadata" in file) return openGgufModel(file);
  // A GGUF's first token does not wait for the encodings of checkpoints.
  return (await import("./open-folder.ts")).openFolderModel(
    file,
    options.floatWeights ?? "keep",
    undefined,
    options.contextLength,
  );
}

async function openGgufModel(file: GgufFile): Promise<OpenModel> {
  const place = file.sources[0]!.name;
  const name = file.metadata.string("general.architecture");
  const architecture = architectureOfGguf(name, `${place}, general.architecture`);
  const config = await architecture.fromGguf!(ggufModelFile(file, name));
  const store = splitFused(ggufStore(file.tensors, place), ggufNames, config);
  return assemble(architecture, config, ggufNames, store);
}
