import type { Graph } from "../../plan/graph.ts";
import type { MatrixSource } from "../../weights/matrix-source.ts";
import type { QuantizedMatrix } from "../../weights/quantized-matrix.ts";
import type { Grid } from "../grid.ts";
import { joinRows } from "../join-rows.ts";
import type { KernelPool } from "../kernels/kernel-pool.ts";
import { loadRows } from "../kernels/load-rows.ts";
import { searchMatrix } from "../kernels/matrix-kernels.ts";
import { Hessian } from "./hessian.ts";
import type { LayerRuns, States } from "./layer-runs.ts";
import type { ScaleFactors } from "./scale-factors.ts";
import { cutGraph, type Stage } from "./slice-graph.ts";

/** How a matrix is quantised with the text's help. */
export interface CalibratedMatrix {
  readonly grid: Grid;
  /**
   * gptq: codes make good what those before them lost. awq: inputs are scaled, and down again in what makes them. In both
   * scales are fitted to the inputs.
   */
  readonly method: "gptq" | "awq";
}

export interface LayerQuantizer {
  readonly pool: KernelPool;
  readonly graph: Graph;
  readonly runs: LayerRuns;
  /** How to quantise the matrix of that name; undefined for one that stays as it is. */
  plan(name: string): CalibratedMatrix | undefined;
  isDone(name: string): boolean;
  /** The floats to quantise. */
  source(name: string): MatrixSource;
  vector(name: string): Promise<Float32Array>;
  /** Takes a matrix that is done; the runs must see it from then on. */
  done(name: string, matrix: QuantizedMatrix): Promise<void>;
  readonly factors: ScaleFactors;
  readonly damping: number;
  readonly actOrder: boolean;
}

/** Weights that are floats in the kernels' memory at once. */
const ROWS_AT_ONCE: number = 4 * 1024 * 1024;

/**
 * Quantises the matrices of a model in the order in which they run. Each is fitted to the inputs that it gets from those
 * before it, quantised already. Memory: the states of all tokens at one place of the model, one Hessian and its factor, and
 * one matrix.
 */
export async function quantizeLayers(quantizer: LayerQuantizer): Promise<void> {
  const { parts } = cutGraph(quantizer.graph);
  let states: States = new Map();
  for (const [i, part] of parts.entries()) {
    if (i === 0) states = await advance(quantizer.runs, new Map(), part.from);
    for (const stage of part.stages) await quantizeStage(quantizer, states, stage);
    if (i + 1 < parts.length) states = await advance(quantizer.runs, states, part.to);
  }
}

async function advance(
  runs: LayerRuns,
  states: States,
  to: Iterable<Parameters<LayerRuns["states"]>[1]>,
): Promise<States> {
  const next = new Map<Parameters<LayerRuns["states"]>[1], Float32Array>();
  for (const value of to) next.set(value, states.get(value) ?? (await runs.states(states, value)));
  return next;
}

async function quantizeStage(quantizer: LayerQuantizer, states: States, stage: Stage): Promise<void> {
  const { pool, runs, damping, actOrder, factors } = quantizer;
  const planned = stage.weights.flatMap((name) => {
    const plan = quantizer.isDone(name) ? undefined : quantizer.plan(name);
    return plan ? [{ name, ...plan }] : [];
  });
  if (planned.length === 0) return;
  const mark = pool.mark();
  try {
    if (planned[0]!.method === "awq") await factors.find(quantizer, states, stage);
    const hessian = new Hessian(pool, stage.input.width);
    await runs.each(states, stage.input, (rows) => hessian.add(rows));
    const factor = planned.some(({ method }) => method === "gptq")
      ? await hessian.factor(damping, actOrder)
      : undefined;
    const importance = pool.put(hessian.importance());
    for (const { name, grid, method } of planned) {
      const source = quantizer.source(name);
      const columns = await factors.columns(name);
      const divisors = await factors.divisors(name);
      const chunks: QuantizedMatrix[] = [];
      const step = Math.max(16, Math.floor(ROWS_AT_ONCE / source.K / 16) * 16);
      for (let first = 0; first < source.N; first += step) {
        const inner = pool.mark();
        const matrix = await source.readRows(first, Math.min(step, source.N - first));
        const changes = { inputOrder: source.inputOrder, factors: columns, divisors: divisors?.subarray(first) };
        const rows = await loadRows(pool, matrix, name, changes);
        chunks.push(await searchMatrix(pool, rows, grid, importance, method === "gptq" ? factor : undefined));
        pool.release(inner);
      }
      await quantizer.done(name, joinRows(chunks));
    }
  } finally {
    pool.release(mark);
  }
}
