import type { JsonObject } from "../formats/json.ts";
import type { FolderPlan } from "./plan-folder.ts";
import { type SafetensorsWriteOptions, writeJson, writeSafetensors } from "./write-safetensors.ts";
import type { OutputFolder } from "./writer.ts";

/** A file of the model beside config.json and the weights; what is no text or bytes becomes JSON. */
export type OtherFile = string | Uint8Array | JsonObject;

/** What config.json says of quantisation in one spelling or another. */
const QUANTIZATION_KEYS = ["quantization_config", "compression_config"];

/** Writes a model in the layout of the Hugging Face hub: config.json, the weights, then all other files. */
export async function writeFolder(
  folder: OutputFolder,
  plan: Pick<FolderPlan, "outgoing" | "quantization">,
  config: JsonObject,
  others: ReadonlyMap<string, OtherFile>,
  options: SafetensorsWriteOptions = {},
): Promise<void> {
  await writeJson(folder, "config.json", withQuantization(config, plan.quantization));
  await writeSafetensors(folder, plan.outgoing, options);
  for (const [name, file] of others) {
    if (typeof file !== "string" && !(file instanceof Uint8Array)) await writeJson(folder, name, file);
    else await (await folder.file(name)).write(0, typeof file === "string" ? new TextEncoder().encode(file) : file);
  }
}

function withQuantization(config: JsonObject, quantization: JsonObject | undefined): JsonObject {
  const without = (object: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(object).filter(([key]) => !QUANTIZATION_KEYS.includes(key)));
  const { text_config: text } = config;
  const plain = without(config);
  return {
    ...plain,
    ...(typeof text === "object" && text !== null && { text_config: without(text as JsonObject) }),
    ...(quantization && { quantization_config: quantization }),
  };
}
