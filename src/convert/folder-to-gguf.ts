import { HalfbyteError } from "../errors.ts";
import type { GgufTensor } from "../formats/gguf/parse.ts";
import { memorySource } from "../formats/memory-source.ts";
import type { HuggingFaceFolder } from "../formats/safetensors/hugging-face-folder.ts";
import type { OpenModel } from "../models/assemble.ts";
import { ConfigReader } from "../models/config-reader.ts";
import type { DecoderConfig } from "../models/decoder-config.ts";
import type { GgufModelFile } from "../models/gguf-config.ts";
import { openModel } from "../models/open-model.ts";
import { architectureOfGguf } from "../models/registry.ts";
import { ggufNames, huggingFaceNames } from "../models/tensor-names.ts";
import type { Conversion } from "./convert.ts";
import { decoderTensors, reordered, reorderedVector } from "./decoder-tensors.ts";
import { fileType, measured } from "./file-facts.ts";
import { type GgufEncoding, typeNamed } from "./ggml-form.ts";
import { modelEntries, nameOf } from "./gguf-metadata.ts";
import { vectorSource } from "./outgoing.ts";
import type { PlanOptions, WeightChanges } from "./plan-folder.ts";
import { type GgufItem, planGguf } from "./plan-gguf.ts";
import { checkSameDecoder } from "./same-decoder.ts";
import { tokenizerEntries } from "./tokenizer-to-gguf.ts";
import { type GgufValueOut, writeGguf } from "./write-gguf.ts";

/** `general.architecture` by `Architecture.name`: in GGUF Mistral goes by the name of Llama. */
const GGUF_ARCHITECTURES: Readonly<Record<string, string>> = {
  llama: "llama",
  mistral: "llama",
  gemma3: "gemma3",
  qwen2: "qwen2",
  qwen3: "qwen3",
};
const ROPE_DIVISORS = "rope_freqs.weight";

/**
 * A folder as one GGUF file: tensors under GGUF's names, rows of q and k in its order, norms as they are used, keys made of
 * config.json and the tokenizer's files. What was made is read back and compared. Throws ERR_UNSUPPORTED where GGUF cannot
 * say what the folder does, and as `planConversion`.
 */
export async function folderToGguf(
  folder: HuggingFaceFolder,
  encoding: GgufEncoding | undefined,
  options: PlanOptions,
): Promise<Conversion> {
  const model = await openModel(folder);
  const { config } = model;
  const architecture = GGUF_ARCHITECTURES[model.architecture.name];
  if (!architecture)
    throw new HalfbyteError("ERR_UNSUPPORTED", "Halfbyte writes no GGUF files of this architecture", {
      place: "config.json, model_type",
      expected: Object.keys(GGUF_ARCHITECTURES).join(", "),
      got: model.architecture.name,
    });
  const { entries: own, ropeDivisors } = modelEntries(architecture, config, {
    name: nameOf(folder.config),
    license: undefined,
  });
  const items = await itemsOf(model, architecture, ropeDivisors, options.changes);
  const again = await architectureOfGguf(architecture, "").fromGguf?.(asModelFile(architecture, own, items, config));
  if (again) checkSameDecoder(config, again, "GGUF");
  const entries = new Map([...own, ...(await tokenizerEntries(folder, config.vocabularySize))]);
  const plan = await planGguf(items, encoding, options);
  const type = fileType(plan.commonest);
  if (type !== undefined) entries.set("general.file_type", { type: "u32", value: type });
  return {
    format: "gguf",
    ...measured(plan.outgoing),
    rounded: plan.rounded,
    notes: [...model.notes, ...plan.notes],
    write: (sink, writeOptions) => writeGguf(sink, entries, plan.outgoing, writeOptions),
  };
}

async function itemsOf(
  { config, graph, weights }: OpenModel,
  architecture: string,
  ropeDivisors: Float32Array | undefined,
  changes: WeightChanges | undefined,
): Promise<GgufItem[]> {
  const embed = graph.ops.find((op) => op.op === "embed");
  const embedding = embed && "weight" in embed ? embed.weight : "";
  const names = huggingFaceNames((name) => name === embedding, config.postNorms);
  const from = decoderTensors(config, names);
  const turned = architecture === "llama";
  const items: GgufItem[] = [];
  if (ropeDivisors) items.push({ name: ROPE_DIVISORS, vector: vectorSource(ROPE_DIVISORS, ropeDivisors) });
  for (const [i, { name, kind, turns }] of decoderTensors(config, ggufNames).entries()) {
    const source = from[i]!.name;
    if (kind === "matrix") {
      const own = weights.matrix(source);
      const matrix = changes ? changes.matrix(own) : own;
      items.push({ name, matrix: turned && turns ? reordered(matrix, config.headSize, "neighbours") : matrix });
    } else {
      const values = changes?.vector(source) ?? (await weights.vector(source));
      const vector = turned && turns ? reorderedVector(values, config.headSize, "neighbours") : values;
      items.push({ name, vector: vectorSource(name, vector) });
    }
  }
  return items;
}

/** What a reader of the file would find. */
function asModelFile(
  architecture: string,
  entries: ReadonlyMap<string, GgufValueOut>,
  items: readonly GgufItem[],
  { vocabularySize, hiddenSize }: DecoderConfig,
): GgufModelFile {
  const source = memorySource(new Uint8Array(0), "the file to be");
  const tensors = new Map<string, GgufTensor>();
  for (const { name } of items) {
    const [N, K] = [vocabularySize, hiddenSize];
    tensors.set(name, { name, N, K, shape: [K, N], type: typeNamed("F32"), source, offset: 0, byteLength: 0 });
  }
  const value = (key: string): unknown => {
    const entry = entries.get(`${architecture}.${key}`);
    if (!entry || !("value" in entry)) return undefined;
    return entry.type === "f32" ? Math.fround(Number(entry.value)) : entry.value;
  };
  return {
    place: source.name,
    tensors,
    config: new ConfigReader(source.name, value),
    async floats(name) {
      const item = items.find((each) => each.name === name);
      if (!item || !("vector" in item)) return undefined;
      return ((await item.vector.readRows(0, 1)) as { values: Float32Array }).values;
    },
    numbers: async (key) => value(key) as number[],
  };
}
