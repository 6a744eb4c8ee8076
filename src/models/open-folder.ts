import type { HuggingFaceFolder } from "../formats/safetensors/hugging-face-folder.ts";
import { assemble, type OpenModel } from "./assemble.ts";
import { openCheckpoint } from "./checkpoint.ts";
import { type FloatWeights, safetensorsStore } from "./checkpoint-store.ts";
import { ConfigReader } from "./config-reader.ts";
import { splitFused } from "./fused-tensors.ts";
import { Notes } from "./notes.ts";
import { architectureOfModelType } from "./registry.ts";
import { huggingFaceNames } from "./tensor-names.ts";

/** See `openModel`. */
export async function openFolderModel(folder: HuggingFaceFolder, floatWeights: FloatWeights): Promise<OpenModel> {
  const place = "config.json";
  const reader = new ConfigReader(place, (key) => (Object.hasOwn(folder.config, key) ? folder.config[key] : undefined));
  const architecture = architectureOfModelType(reader.text("model_type"), reader.place("model_type"));
  const config = architecture.fromHuggingFace(reader);
  const notes = new Notes();
  const checkpoint = await openCheckpoint(folder, reader, notes);
  const { plain, quantized } = checkpoint;
  const isQuantized = (name: string): boolean => quantized.has(name.replace(/\.weight$/, ""));
  const names = huggingFaceNames((name) => plain.has(name) || isQuantized(name), config.postNorms);
  if (config.tiedOutput && isQuantized(names.output))
    notes.add("not used: the configuration ties the output to the embedding", names.output);
  const store = safetensorsStore(checkpoint, { floatWeights, normsPlusOne: config.normsPlusOne });
  return assemble(architecture, config, names, splitFused(store, names, config), notes.lines());
}
