import { HalfbyteError } from "../errors.ts";
import { type CompileOptions, compile } from "../plan/compile.ts";
import type { Graph } from "../plan/graph.ts";
import type { Plan } from "../plan/plan.ts";
import type { Architecture } from "./architecture.ts";
import type { DecoderConfig } from "./decoder-config.ts";
import { type ModelWeights, modelWeights, type TensorStore } from "./model-weights.ts";
import type { DecoderNames } from "./tensor-names.ts";

/** A model whose file has been read but for the weights themselves. */
export interface OpenModel {
  readonly architecture: Architecture;
  readonly config: DecoderConfig;
  readonly graph: Graph;
  /** The file's names of its tensors. */
  readonly names: DecoderNames;
  readonly weights: ModelWeights;
  /** What a reader of the file should know: where its configuration is not what its tensors are, or steers nothing here. */
  readonly notes: readonly string[];
  /** The plan of a step; options pass through to the compiler. Throws ERR_SHAPE where file and configuration disagree. */
  compile(options?: CompileOptions): Plan;
}

/** Puts together what a file of either format says. */
export function assemble(
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
    names,
    weights,
    notes,
    compile: (options) => compile(graph, weights.layouts, weights.vectorLengths, options),
  };
}
