import type { Executor, LoadOptions, WeightSet } from "../../executors/executor.ts";
import { blocksFor } from "../../plan/cache-layout.ts";
import { compile } from "../../plan/compile.ts";
import type { Graph, Value } from "../../plan/graph.ts";
import type { ActivationMode } from "../../plan/plan.ts";
import type { MatrixSource } from "../../weights/matrix-source.ts";
import { packedLayout } from "../../weights/packed-layout.ts";
import { rowsName, sliceGraph } from "./slice-graph.ts";

/** Rows of values that are handed to an executor at once, in bytes. */
const ROWS_AT_ONCE: number = 64 * 1024 * 1024;

/** A text as tokens, in samples of equal length, each of which begins anew. */
export interface Samples {
  readonly ids: Int32Array;
  readonly length: number;
}

/** Values of all tokens, f32 [tokens, width]. */
export type States = ReadonlyMap<Value, Float32Array>;

/** The weights as they stand so far: those that were quantised, quantised. */
export interface LayerWeights extends WeightSet {
  vectorLength(name: string): number;
}

export interface LayerRunOptions {
  readonly executor: Executor;
  readonly load: LoadOptions;
  readonly activations: ActivationMode;
  readonly signal?: AbortSignal | undefined;
}

/** Runs parts of a model over samples, from states that stand in memory. */
export class LayerRuns {
  readonly #graph: Graph;
  readonly #weights: LayerWeights;
  readonly #samples: Samples;
  readonly #options: LayerRunOptions;

  constructor(graph: Graph, weights: LayerWeights, samples: Samples, options: LayerRunOptions) {
    this.#graph = graph;
    this.#weights = weights;
    this.#samples = samples;
    this.#options = options;
  }

  /** The states of `target`, kept; from the tokens where none are given. */
  async states(given: States, target: Value): Promise<Float32Array> {
    const all = new Float32Array(this.#samples.ids.length * target.width);
    await this.each(given, target, async (rows, first) => all.set(rows, first * target.width));
    return all;
  }

  /** Shows the rows of `target`, f32 [rows, width], sample by sample; valid until the visit settles. */
  async each(
    given: States,
    target: Value,
    visit: (rows: Float32Array, firstToken: number) => Promise<void>,
  ): Promise<void> {
    const { ids, length } = this.#samples;
    const { executor, load, activations, signal } = this.#options;
    const graph = sliceGraph(this.#graph, new Set(given.keys()), target);
    const width = [...given.keys()].reduce((sum, value) => sum + value.width, 1);
    const samplesAtOnce = Math.max(1, Math.floor(ROWS_AT_ONCE / (4 * width * length)));
    const blocks = Int32Array.from({ length: blocksFor(length) }, (_, i) => i);
    const logitRows = Int32Array.from({ length }, (_, m) => m);
    for (let start = 0; start < ids.length; start += samplesAtOnce * length) {
      signal?.throwIfAborted();
      const end = Math.min(ids.length, start + samplesAtOnce * length);
      const weights = withRows(this.#weights, given, start, end);
      const plan = compile(graph, layoutsOf(graph, weights), lengthsOf(graph, weights), {
        activations,
        maxRows: length,
        maxLogitRows: length,
      });
      const runner = await executor.load(plan, weights, load);
      try {
        runner.ensureBlocks(blocks.length);
        for (let first = start; first < end; first += length) {
          signal?.throwIfAborted();
          const tokenIds =
            given.size === 0 ? ids.slice(first, first + length) : logitRows.map((m) => first - start + m);
          const segments = [{ rows: length, position: 0, blocks }];
          await visit(await runner.step({ tokenIds, segments, logitRows }), first);
        }
      } finally {
        await runner.dispose();
      }
    }
  }
}

/** The states of some tokens as matrices, by the names that a slice looks them up. */
function withRows(weights: LayerWeights, given: States, start: number, end: number): LayerWeights {
  const rows = new Map<string, MatrixSource>();
  for (const [value, all] of given) {
    const { width: K } = value;
    rows.set(rowsName(value), rowsSource(rowsName(value), all.subarray(start * K, end * K), K));
  }
  return {
    matrix: (name) => rows.get(name) ?? weights.matrix(name),
    vector: (name) => weights.vector(name),
    vectorLength: (name) => weights.vectorLength(name),
  };
}

function rowsSource(name: string, values: Float32Array, K: number): MatrixSource {
  const like = { kind: "float", type: "f32", N: 0, K, values: new Float32Array(0) } as const;
  const rows = (first: number, count: number): Float32Array => values.subarray(first * K, (first + count) * K);
  return {
    name,
    N: values.length / K,
    K,
    rowBytes: 4 * K,
    like,
    readRows: async (first, count) => ({ ...like, N: count, values: rows(first, count) }),
  };
}

function layoutsOf(graph: Graph, weights: LayerWeights): Map<string, ReturnType<typeof packedLayout>> {
  const names = graph.ops.flatMap((op) => (op.op === "embed" || op.op === "linear" ? [op.weight] : []));
  return new Map(
    names.map((name) => {
      const { like, N, inputOrder } = weights.matrix(name);
      return [name, packedLayout(like, N, name, inputOrder)];
    }),
  );
}

function lengthsOf(graph: Graph, weights: LayerWeights): Map<string, number> {
  const names = graph.ops.flatMap((op) => {
    if (op.op === "norm") return [op.weight];
    return op.op === "linear" && op.bias !== undefined ? [op.bias] : [];
  });
  return new Map(names.map((name) => [name, weights.vectorLength(name)]));
}
