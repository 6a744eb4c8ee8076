import { HalfbyteError } from "../../errors.ts";
import type { KernelPool } from "../kernels/kernel-pool.ts";
import type { GptqFactor } from "../kernels/matrix-kernels.ts";

/** Kernels of the Hessian take so many numbers of a row at a time; an even number of them would stand on few cache lines. */
const STRIDE_UNIT = 32;
const ROW_UNIT = 4;
/** Where a matrix is so near to singular that its factor fails, the damping grows by this, to at most all of it. */
const DAMPING_STEP = 10;
/** Importance that an input keeps which the text never gave anything to, as a part of the mean. */
const LEAST_IMPORTANCE = 1e-4;

/**
 * XᵀX of the inputs of a matrix over a text, f32 [K, K], in the memory of the kernels: what rounding errors of its weights
 * cost. Room that it took is the caller's to give back.
 */
export class Hessian {
  readonly K: number;
  readonly stride: number;
  /** Entries on and above the diagonal. */
  readonly at: number;
  readonly #pool: KernelPool;
  #rows = 0;

  constructor(pool: KernelPool, K: number) {
    this.K = K;
    this.stride = (Math.ceil(K / STRIDE_UNIT) | 1) * STRIDE_UNIT;
    this.#pool = pool;
    this.at = pool.take(this.stride * this.stride * 4);
    pool.floats(this.at, this.stride * this.stride).fill(0);
  }

  /** Rows of inputs seen. */
  get rows(): number {
    return this.#rows;
  }

  /** Adds inputs, f32 [rows, K]. Throws ERR_NON_FINITE where one is not finite. */
  async add(inputs: Float32Array): Promise<void> {
    const { K, stride } = this;
    const pool = this.#pool;
    const rows = inputs.length / K;
    const mark = pool.mark();
    const x = pool.take(rows * stride * 4);
    const room = pool.floats(x, rows * stride);
    for (let row = 0; row < rows; row++) {
      room.set(inputs.subarray(row * K, (row + 1) * K), row * stride);
      room.fill(0, row * stride + K, (row + 1) * stride);
    }
    const [finite] = await pool.run([[["allWithin", x, rows * stride, 1e30]]]);
    if (!finite) throw new HalfbyteError("ERR_NON_FINITE", "the calibration text gives inputs that are not finite");
    await pool.run(
      bands(stride, pool.threads).map(([first, end]) => [["addGram", x, rows, stride, this.at, first, end]]),
    );
    pool.release(mark);
    this.#rows += rows;
  }

  /** Mean of the squared inputs, f32 [K]. */
  importance(): Float32Array {
    const { K, stride } = this;
    const all = this.#pool.floats(this.at, stride * stride);
    const squares = Float32Array.from({ length: K }, (_, k) => all[k * stride + k]! / Math.max(1, this.#rows));
    const mean = squares.reduce((sum, square) => sum + square, 0) / K;
    if (mean === 0) return squares.fill(1);
    return squares.map((square) => Math.max(square, mean * LEAST_IMPORTANCE));
  }

  /**
   * The factor that GPTQ takes, inputs in descending order of their squares (act-order) or in their own; undefined where
   * there is none, as for inputs that never were anything but 0. `damping`: added to the diagonal, as a part of its mean.
   */
  async factor(damping: number, actOrder: boolean): Promise<GptqFactor | undefined> {
    const { K, stride } = this;
    const pool = this.#pool;
    const all = pool.floats(this.at, stride * stride);
    const diagonal = Float32Array.from({ length: K }, (_, k) => all[k * stride + k]!);
    const mean = diagonal.reduce((sum, square) => sum + square, 0) / K;
    const inputs = Array.from({ length: K }, (_, k) => k);
    if (actOrder) inputs.sort((a, b) => diagonal[b]! - diagonal[a]! || a - b);
    const order = pool.put(Int32Array.from(inputs));
    const factor = pool.take(K * K * 4);
    const mark = pool.mark();
    const a = pool.take(stride * stride * 8);
    const room = pool.take(16 * stride * 8);
    try {
      for (let part = damping; mean > 0 && part <= 1; part *= DAMPING_STEP) {
        const [positive] = await pool.run([
          [
            ["reversedGram", this.at, order, K, stride, part * mean, a],
            ["cholesky", a, K, stride],
          ],
        ]);
        if (!positive) continue;
        await pool.run([
          [
            ["invertUpper", a, K, stride, room],
            ["takeFactor", a, K, stride, factor],
          ],
        ]);
        return { order, factor };
      }
      return undefined;
    } finally {
      pool.release(mark);
    }
  }
}

/** Bands of rows of about equal area on and above the diagonal, a few for each thread. */
function bands(stride: number, threads: number): [first: number, end: number][] {
  const count = 4 * threads;
  const edges = Array.from({ length: count + 1 }, (_, i) => {
    const left = 1 - Math.sqrt(1 - i / count);
    return i === count ? stride : Math.round((left * stride) / ROW_UNIT) * ROW_UNIT;
  });
  return edges.slice(1).flatMap((end, i) => (end > edges[i]! ? [[edges[i]!, end] as [number, number]] : []));
}
