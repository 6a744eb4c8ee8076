import { HalfbyteError } from "../errors.ts";
import type { GgufFile } from "../formats/gguf/open-gguf.ts";
import type { HuggingFaceFolder } from "../formats/safetensors/hugging-face-folder.ts";
import type { CompileOptions } from "../plan/compile.ts";
import { compile } from "../plan/compile.ts";
import type { Graph } from "../plan/graph.ts";
import type { Plan } from "../plan/plan.ts";
import type { Architecture } from "./architecture.ts";
import { openCheckpoint } from "./checkpoint.ts";
import { ConfigReader } from "./config-reader.ts";
import type { DecoderConfig } from "./decoder-config.ts";
import { ggufModelFile } from "./gguf-config.ts";
import { type ModelWeights, modelWeights, type TensorStore } from "./model-weights.ts";
import { Notes } from "./notes.ts";
import { architectureOfGguf, architectureOfModelType } from "./registry.ts";
import { type DecoderNames, ggufNames, huggingFaceNames } from "./tensor-names.ts";
import { type FloatWeights, ggufStore, safetensorsStore } from "./tensor-stores.ts";

/** A model whose file has been read but for the weights themselves. */
export interface OpenModel {
  readonly architecture: Architecture;
  readonly config: DecoderConfig;
  readonly graph: Graph;
  readonly weights: ModelWeights;
  /** What a reader of the file should know: where its configuration is not what its tensors are, or steers nothing here. */
  readonly notes: readonly string[];
  /** The plan of a step; options pass through to the compiler. Throws ERR_SHAPE where file and configuration disagree. */
  compile(options?: CompileOptions): Plan;
  /** As `compile`, for the residual stream after `layers` layers (0: the embedding) in place of logits. */
  compileUntil(layers: number, options?: CompileOptions): Plan;
}

export interface OpenModelOptions {
  /** Float matrices of a safetensors checkpoint; default "keep". */
  readonly floatWeights?: FloatWeights;
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
  return "metadata" in file ? openGgufModel(file) : openHuggingFaceModel(file, options);
}

async function openGgufModel(file: GgufFile): Promise<OpenModel> {
  const place = file.sources[0]!.name;
  const name = file.metadata.string("general.architecture");
  const architecture = architectureOfGguf(name, `${place}, general.architecture`);
  const config = await architecture.fromGguf(ggufModelFile(file, name));
  return assemble(architecture, config, ggufNames, ggufStore(file.tensors, place));
}

async function openHuggingFaceModel(folder: HuggingFaceFolder, options: OpenModelOptions): Promise<OpenModel> {
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
  const store = safetensorsStore(checkpoint, {
    floatWeights: options.floatWeights ?? "keep",
    normsPlusOne: config.normsPlusOne,
  });
  return assemble(architecture, config, names, store, notes.lines());
}

function assemble(
  architecture: Architecture,
  config: DecoderConfig,
  names: DecoderNames,
  store: TensorStore,
  notes: readonly string[] = [],
): OpenModel {
  const graph = architecture.graph(config, names);
  const weights = modelWeights(graph, store);
  const embedding = weights.layouts.get(names.embedding)!;
  if (embedding.N !== config.vocabularySize)
    throw new HalfbyteError("ERR_SHAPE", "the embedding does not fit the vocabulary", {
      place: `${store.place}, ${names.embedding}`,
      expected: `${config.vocabularySize} rows`,
      got: String(embedding.N),
    });
  return {
    architecture,
    config,
    graph,
    weights,
    notes,
    compile: (options) => compile(graph, weights.layouts, weights.vectorLengths, options),
    compileUntil(layers, options) {
      if (!Number.isInteger(layers) || layers < 0 || layers > config.layers.length)
        throw new HalfbyteError("ERR_ARGUMENT", "no such layer", {
          expected: `0 to ${config.layers.length}`,
          got: String(layers),
        });
      return compile(architecture.graph(config, names, layers), weights.layouts, weights.vectorLengths, options);
    },
  };
}
