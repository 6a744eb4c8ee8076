import { createHash } from "node:crypto";
import { EXECUTORS, type ExecutorWishes, selectExecutor } from "../executors/select.ts";
import type { ByteSource } from "../formats/byte-source.ts";
import { readBytes } from "../formats/byte-source.ts";
import type { GgufFile } from "../formats/gguf/open-gguf.ts";
import type { HuggingFaceFolder } from "../formats/safetensors/hugging-face-folder.ts";
import { openModel } from "../models/open-model.ts";
import { openText } from "../text/open-text.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import { LayerRuns, type LayerWeights } from "./calibration/layer-runs.ts";
import { type CalibratedMatrix, quantizeLayers } from "./calibration/quantize-layers.ts";
import { type SampleOptions, takeSamples } from "./calibration/samples.ts";
import { ScaleFactors, type VectorStore } from "./calibration/scale-factors.ts";
import { cutGraph } from "./calibration/slice-graph.ts";
import { KeptMatrices } from "./kept-matrices.ts";
import type { KernelPool } from "./kernels/kernel-pool.ts";
import type { QuantizationChoices } from "./options.ts";

export interface CalibrationOptions extends SampleOptions {
  readonly text: string;
  readonly wishes: ExecutorWishes;
  readonly signal?: AbortSignal | undefined;
  /** Weights quantised, and of all there are to be. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

export interface CalibratedMatrices {
  readonly kept: KeptMatrices;
  /** By the file's names. */
  readonly matrices: ReadonlyMap<string, MatrixSource>;
  /** Whether norms stand in the file as w where 1 + w is meant. */
  readonly normsPlusOne: boolean;
  /** Norms and biases that are others now, as a step uses them. */
  readonly vectors: ReadonlyMap<string, Float32Array>;
  readonly tokens: number;
  /** The executor that ran the model. */
  readonly executor: string;
  /** Matrices that were there already, from an interrupted run. */
  readonly resumed: number;
}

/** Before the names of norms and biases in a store. */
const VECTOR = "vector ";

/** To be raised when the same options give other weights. */
const REVISION = 1;

/**
 * Quantises the matrices of a model's layers by what a text puts into them; they stand in files beside the output until that
 * is written, and after an interruption.
 */
export async function calibratedMatrices(
  file: GgufFile | HuggingFaceFolder,
  output: string,
  choices: QuantizationChoices,
  pool: KernelPool,
  options: CalibrationOptions,
): Promise<CalibratedMatrices> {
  const { signal, onProgress } = options;
  const model = await openModel(file);
  const { tokenizer } = await openText(file);
  const samples = takeSamples(tokenizer.encode(options.text), options);
  const { executor, options: load } = await selectExecutor(options.wishes, fastestFirst());
  // A file may have several matrices of a step in one tensor.
  const stems = new Set([...file.tensors.keys()].map(stemOf));
  const planned = new Map<string, CalibratedMatrix>();
  for (const name of new Set(model.graph.ops.flatMap((op) => (op.op === "linear" ? [op.weight] : [])))) {
    const choice = stems.has(stemOf(name)) ? choices.of(model.weights.matrix(name)) : undefined;
    if (choice?.method === "gptq" || choice?.method === "awq")
      planned.set(name, { grid: choice.grid, method: choice.method });
  }
  const hash = createHash("sha256").update(JSON.stringify([REVISION, choices.key, executor.name, samples.length]));
  hash.update(new Uint8Array(samples.ids.buffer));
  await hashSources(hash, file, signal);
  const kept = await KeptMatrices.open(output, hash.digest("hex"));
  try {
    const matrices = new Map<string, MatrixSource>();
    const total = [...planned.keys()].reduce((sum, name) => sum + weightsOf(model.weights.matrix(name)), 0);
    let done = 0;
    const take = async (name: string): Promise<boolean> => {
      const { N, K } = model.weights.matrix(name);
      const matrix = await kept.get(name, N, K, planned.get(name)!.grid);
      if (!matrix) return false;
      matrices.set(name, matrix);
      onProgress?.((done += N * K), total);
      return true;
    };
    for (const name of planned.keys()) await take(name);
    const resumed = matrices.size;
    const vectors = new Map<string, Float32Array>();
    const takeVector = (name: string, values: Float32Array): void => {
      if (name.startsWith(VECTOR)) vectors.set(name.slice(VECTOR.length), values);
    };
    const store: VectorStore = {
      get: (name) => kept.vector(name),
      async put(name, values) {
        await kept.putVector(name, values);
        takeVector(name, values);
      },
    };
    for (const name of model.weights.vectorLengths.keys()) {
      const values = await kept.vector(VECTOR + name);
      if (values) vectors.set(name, values);
    }
    const weights: LayerWeights = {
      matrix: (name) => matrices.get(name) ?? model.weights.matrix(name),
      vector: async (name) => vectors.get(name) ?? model.weights.vector(name),
      vectorLength: (name) => model.weights.vectorLengths.get(name)!,
    };
    const runs = new LayerRuns(model.graph, weights, samples, { executor, load, activations: "a8", signal });
    if (resumed < planned.size)
      await quantizeLayers({
        pool,
        graph: model.graph,
        runs,
        plan: (name) => planned.get(name),
        isDone: (name) => matrices.has(name),
        vector: (name) => model.weights.vector(name),
        factors: new ScaleFactors(
          store,
          cutGraph(model.graph).parts.flatMap(({ stages }) => stages),
        ),
        source: (name) => model.weights.matrix(name),
        async done(name, matrix) {
          await kept.put(name, matrix);
          await take(name);
          signal?.throwIfAborted();
        },
        damping: choices.damping,
        actOrder: choices.actOrder,
      });
    const { normsPlusOne } = model.config;
    return { kept, matrices, vectors, normsPlusOne, tokens: samples.ids.length, executor: executor.name, resumed };
  } catch (error) {
    await kept.close();
    throw error;
  }
}

function stemOf(name: string): string {
  return name.slice(0, name.lastIndexOf("."));
}

function weightsOf({ N, K }: MatrixSource): number {
  return N * K;
}

/** Without a wish native kernels are taken where they are: calibration is one long run. */
function fastestFirst(): typeof EXECUTORS {
  return EXECUTORS.toSorted((a, b) => Number(b.name === "native") - Number(a.name === "native"));
}

const PIECE_BYTES: number = 8 * 1024 * 1024;

async function hashSources(
  hash: ReturnType<typeof createHash>,
  file: GgufFile | HuggingFaceFolder,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (const source of sourcesOf(file)) {
    hash.update(`${source.size}`);
    for (let at = 0; at < source.size; at += PIECE_BYTES) {
      signal?.throwIfAborted();
      hash.update(await readBytes(source, at, Math.min(PIECE_BYTES, source.size - at)));
    }
  }
}

function sourcesOf(file: GgufFile | HuggingFaceFolder): Iterable<ByteSource> {
  if ("metadata" in file) return file.sources;
  return new Set([...file.tensors.values()].map(({ source }) => source));
}
