import { exp64, log64 } from "../../arithmetic/functions64.ts";
import type { Graph, GraphOp, Value } from "../../plan/graph.ts";
import type { MatrixSource } from "../../weights/matrix-source.ts";
import type { Matrix } from "../../weights/quantized-matrix.ts";
import { matrixRowToFloat } from "../../weights/unpack.ts";
import type { Grid } from "../grid.ts";
import type { KernelPool } from "../kernels/kernel-pool.ts";
import { loadRows } from "../kernels/load-rows.ts";
import { roundMatrix } from "../kernels/matrix-kernels.ts";
import type { Hessian } from "./hessian.ts";

/** Exponents tried, from 0, which scales nothing, up to but not 1. */
const EXPONENTS = 20;
/** Rows of each matrix that exponents are judged by, in so many runs spread over it. */
const TRIAL_ROWS = 256;
const TRIAL_RUNS = 16;

/** A matrix that takes the inputs that are to be scaled. */
export interface Taker {
  readonly source: MatrixSource;
  readonly grid: Grid;
}

/**
 * What inputs are scaled by before weights are rounded (Lin and others, 2023, AWQ): a power of the root of their mean square,
 * of all powers tried the one that leaves the least Σ |ΔW · x|² over the text. Undefined where none helps. `share[k]`: inputs
 * of one number must have one factor.
 */
export async function searchFactors(
  pool: KernelPool,
  hessian: Hessian,
  takers: readonly Taker[],
  share: Int32Array | undefined,
): Promise<Float32Array | undefined> {
  const importance = sharedMean(hessian.importance(), share);
  let best: Float32Array | undefined;
  let least = Infinity;
  for (let i = 0; i < EXPONENTS; i++) {
    const factors = powerOf(importance, i / EXPONENTS / 2);
    let error = 0;
    for (const taker of takers) error += await trialError(pool, hessian, taker, factors);
    if (!(error < least)) continue;
    least = error;
    best = i === 0 ? undefined : factors;
  }
  return best;
}

/** Σ over some rows of Δw · H · Δwᵀ, where Δw is what rounding with the factors changes. */
async function trialError(
  pool: KernelPool,
  { at, stride, K }: Hessian,
  { source, grid }: Taker,
  factors: Float32Array,
): Promise<number> {
  const mark = pool.mark();
  try {
    const matrix = await trialRows(source);
    const plain = await loadRows(pool, matrix, source.name, source);
    const scaled = await loadRows(pool, matrix, source.name, { ...source, factors });
    const rounded = await roundMatrix(pool, scaled, grid);
    const { N } = rounded;
    const x = pool.take(N * stride * 4);
    const lost = pool.floats(x, N * stride).fill(0);
    const weights = pool.floats(plain.at, N * K);
    const row = new Float32Array(K);
    for (let n = 0; n < N; n++) {
      matrixRowToFloat(rounded, n, row);
      for (let k = 0; k < K; k++) lost[n * stride + k] = row[k]! / factors[k]! - weights[n * K + k]!;
    }
    const gram = pool.take(stride * stride * 4);
    pool.floats(gram, stride * stride).fill(0);
    await pool.run([[["addGram", x, N, stride, gram, 0, stride]]]);
    const [error] = await pool.run([[["symmetricDot", at, gram, K, stride]]]);
    // Each matrix counts by all of its rows.
    return (error! * source.N) / N;
  } finally {
    pool.release(mark);
  }
}

async function trialRows(source: MatrixSource): Promise<Matrix> {
  const { N } = source;
  if (N <= TRIAL_ROWS) return source.readRows(0, N);
  const count = TRIAL_ROWS / TRIAL_RUNS;
  const parts: Matrix[] = [];
  for (let i = 0; i < TRIAL_RUNS; i++)
    parts.push(await source.readRows(Math.floor((i * (N - count)) / (TRIAL_RUNS - 1)), count));
  return floatRows(parts);
}

function floatRows(parts: readonly Matrix[]): Matrix {
  const K = parts[0]!.K;
  const N = parts.reduce((sum, part) => sum + part.N, 0);
  const values = new Float32Array(N * K);
  let n = 0;
  for (const part of parts)
    for (let i = 0; i < part.N; i++, n++) matrixRowToFloat(part, i, values.subarray(n * K, (n + 1) * K));
  return { kind: "float", type: "f32", N, K, values };
}

/** x^exponent, scaled so that the geometric mean of the least and the largest is 1. */
function powerOf(x: Float32Array, exponent: number): Float32Array {
  const powers = Float32Array.from(x, (each) => exp64(exponent * log64(each)));
  const least = powers.reduce((a, b) => Math.min(a, b), Infinity);
  const largest = powers.reduce((a, b) => Math.max(a, b), 0);
  const middle = Math.sqrt(least * largest);
  return powers.map((power) => power / middle);
}

function sharedMean(values: Float32Array, share: Int32Array | undefined): Float32Array {
  if (!share) return values;
  const sums = new Map<number, { sum: number; count: number }>();
  values.forEach((value, k) => {
    const each = sums.get(share[k]!) ?? { sum: 0, count: 0 };
    sums.set(share[k]!, { sum: each.sum + value, count: each.count + 1 });
  });
  return values.map((_, k) => {
    const { sum, count } = sums.get(share[k]!)!;
    return sum / count;
  });
}

/** Where the inverse of a value's factors can go without a change of what is computed. */
export type Absorber =
  | { readonly kind: "norm"; readonly vector: string }
  /** Rows of the matrix that makes it; row k, or row `share[k]`, makes input k. */
  | { readonly kind: "rows"; readonly weight: string; readonly bias: string | undefined; readonly share?: Int32Array };

/** What makes a value, and can take factors in; undefined where nothing can. */
export function absorberOf(graph: Graph, value: Value): Absorber | undefined {
  const made = makerOf(graph, value);
  if (made?.op === "norm" && made.heads === 1) return { kind: "norm", vector: made.weight };
  if (made?.op === "gate") return linearRows(makerOf(graph, made.up));
  if (made?.op !== "attention") return undefined;
  const rows = linearRows(makerOf(graph, made.v));
  if (!rows) return undefined;
  const { heads, kvHeads, headSize } = made.shape;
  const share = Int32Array.from({ length: heads * headSize }, (_, k) => {
    const head = Math.floor(Math.floor(k / headSize) / (heads / kvHeads));
    return head * headSize + (k % headSize);
  });
  return { ...rows, share };
}

function linearRows(op: GraphOp | undefined): Extract<Absorber, { kind: "rows" }> | undefined {
  return op?.op === "linear" ? { kind: "rows", weight: op.weight, bias: op.bias } : undefined;
}

function makerOf(graph: Graph, value: Value): GraphOp | undefined {
  const op = graph.ops.find((each) => "out" in each && each.out === value);
  return op?.op === "gather" ? makerOf(graph, op.input) : op;
}
