import { HalfbyteError } from "../errors.ts";
import type { HuggingFaceFolder } from "../formats/safetensors/hugging-face-folder.ts";
import { assemble, type OpenModel } from "./assemble.ts";
import { openCheckpoint } from "./checkpoint.ts";
import { type FloatWeights, safetensorsStore } from "./checkpoint-store.ts";
import { ConfigReader } from "./config-reader.ts";
import type { DecoderConfig } from "./decoder-config.ts";
import { splitFused } from "./fused-tensors.ts";
import { withContext } from "./long-rope.ts";
import { Notes } from "./notes.ts";
import { architectureOfModelType } from "./registry.ts";
import { huggingFaceNames } from "./tensor-names.ts";

/** In the config.json of a folder that has one rank's share of a model: what ordinary readers know nothing of. */
export const SHARD_KEY = "halfbyte_shard";

/**
 * See `openModel`. `sizesOf` makes, of the configuration of a model, that of the share which the folder has; without it
 * such a folder is refused with ERR_UNSUPPORTED.
 */
export async function openFolderModel(
  folder: HuggingFaceFolder,
  floatWeights: FloatWeights,
  sizesOf?: (whole: DecoderConfig) => DecoderConfig,
  contextLength?: number,
): Promise<OpenModel> {
  const place = "config.json";
  const reader = new ConfigReader(place, (key) => (Object.hasOwn(folder.config, key) ? folder.config[key] : undefined));
  const architecture = architectureOfModelType(reader.text("model_type"), reader.place("model_type"));
  if (!sizesOf && reader.has(SHARD_KEY))
    throw new HalfbyteError("ERR_UNSUPPORTED", "one rank's share of a model, which cannot answer alone", {
      place: reader.place(SHARD_KEY),
      remedy: "load the whole model, or the share by loadModel's option shard",
    });
  const whole = architecture.fromHuggingFace(reader);
  const config = withContext(sizesOf ? sizesOf(whole) : whole, contextLength);
  const notes = new Notes();
  const checkpoint = await openCheckpoint(folder, reader, notes);
  const { plain, quantized } = checkpoint;
  const isQuantized = (name: string): boolean => quantized.has(name.replace(/\.weight$/, ""));
  const names = huggingFaceNames(
    (name) => plain.has(name) || isQuantized(name),
    config.postNorms,
    architecture.renamed,
  );
  if (config.tiedOutput && isQuantized(names.output))
    notes.add("not used: the configuration ties the output to the embedding", names.output);
  const store = safetensorsStore(checkpoint, { floatWeights, normsPlusOne: config.normsPlusOne });
  return assemble(architecture, config, names, splitFused(store, names, config), notes.lines());
}
