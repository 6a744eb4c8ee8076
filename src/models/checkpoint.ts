import { isJsonObject, type JsonObject } from "../formats/json.ts";
import { safetensorsFloats } from "../formats/read-tensor.ts";
import type { HuggingFaceFolder } from "../formats/safetensors/hugging-face-folder.ts";
import type { SafetensorsTensor } from "../formats/safetensors/open-safetensors.ts";
import { ConfigReader } from "./config-reader.ts";
import { eachAtOnce, type OpenedMatrix } from "./found-matrix.ts";
import type { Notes } from "./notes.ts";
import { type QuantizationConfig, readQuantizationConfig } from "./quantization-config.ts";
import { openQuantized } from "./quantized-store.ts";
import { type SortedTensors, sortTensors } from "./quantized-tensors.ts";

/** The tensors of a Hugging Face folder, those of a quantised matrix taken together. */
export interface Checkpoint {
  /** A file of it, for messages. */
  readonly place: string;
  /** Floats, by their names. */
  readonly plain: ReadonlyMap<string, SafetensorsTensor>;
  /** By their names without `.weight`. */
  readonly quantized: ReadonlyMap<string, OpenedMatrix>;
  /** Biases of quantised matrices that are all 0, as AutoGPTQ writes them for models that have none. */
  readonly zeroBiases: ReadonlySet<string>;
}

/** In a folder without `quantization_config`, where older writers say what they did. */
const OLDER_FILES = [
  ["quantize_config.json", "gptq"],
  ["quant_config.json", "awq"],
] as const;

/**
 * Sorts the tensors and opens the quantised matrices, each by what its tensors tell and else by the configuration. Throws
 * what `sortTensors`, `readQuantizationConfig` and `openQuantized` do.
 */
export async function openCheckpoint(
  folder: HuggingFaceFolder,
  config: ConfigReader,
  notes: Notes,
): Promise<Checkpoint> {
  const { quantized, plain } = sortTensors(folder.tensors);
  const reader = quantizationReader(config) ?? (quantized.size > 0 ? await olderReader(folder) : undefined);
  const quantization = reader && readQuantizationConfig(reader, notes);
  if (!quantization && quantized.size > 0)
    notes.add("no configuration says how the matrices are quantised: read by their tensors alone");
  if (quantization) noteFloats(quantization, plain, notes);
  const [first] = folder.tensors.values();
  return {
    place: first?.source.name ?? "model.safetensors",
    plain,
    quantized: await openQuantized(quantized.values(), quantization, notes),
    zeroBiases: await zeroBiases({ quantized, plain }),
  };
}

function quantizationReader(config: ConfigReader): ConfigReader | undefined {
  const text = config.object("text_config");
  for (const key of ["quantization_config", "compression_config"]) {
    const found = config.object(key) ?? text?.object(key);
    if (found) return found;
  }
  return undefined;
}

async function olderReader(folder: HuggingFaceFolder): Promise<ConfigReader | undefined> {
  for (const [fileName, method] of OLDER_FILES) {
    const value = await folder.json(fileName);
    if (!isJsonObject(value)) continue;
    const all: JsonObject = { quant_method: method, ...value };
    return new ConfigReader(fileName, (key) => (Object.hasOwn(all, key) ? all[key] : undefined));
  }
  return undefined;
}

function noteFloats(
  quantization: QuantizationConfig,
  plain: ReadonlyMap<string, SafetensorsTensor>,
  notes: Notes,
): void {
  for (const [name, { shape }] of plain) {
    const [, matrix] = /^(.*\blayers\.\d+\..+)\.weight$/.exec(name) ?? [];
    if (matrix === undefined || shape.length !== 2) continue;
    const says = quantization.says(matrix);
    if (says !== undefined && says !== "float") notes.add("floats, though the configuration has it quantised", matrix);
  }
}

async function zeroBiases({ quantized, plain }: SortedTensors): Promise<Set<string>> {
  const found = new Set<string>();
  const biases = [...quantized.keys()].flatMap((name) => plain.get(`${name}.bias`) ?? []);
  await eachAtOnce(biases, async (bias) => {
    if ((await safetensorsFloats(bias)).every((value) => value === 0)) found.add(bias.name);
  });
  return found;
}
