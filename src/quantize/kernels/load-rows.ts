import { HalfbyteError } from "../../errors.ts";
import type { Matrix } from "../../weights/quantized-matrix.ts";
import { matrixRowToFloat } from "../../weights/unpack.ts";
import type { KernelPool } from "./kernel-pool.ts";
import type { KernelRows } from "./matrix-kernels.ts";

/** The range of a group must not overflow. */
const LARGEST_WEIGHT = 1.6e38;

export interface RowChanges {
  readonly inputOrder?: Int32Array | undefined;
  readonly factors?: Float32Array | undefined;
  readonly divisors?: Float32Array | undefined;
}

/**
 * Weights of any form as f32 in the kernels' memory, inputs in their own order; column k times `factors[k]`, and row n
 * over `divisors[n]`. Throws
 * ERR_NON_FINITE, with the tensor as the place, for NaN, infinities and what comes near them.
 */
export async function loadRows(
  pool: KernelPool,
  matrix: Matrix,
  name: string,
  { inputOrder, factors, divisors }: RowChanges = {},
): Promise<KernelRows> {
  const { N, K } = matrix;
  const at = pool.take(N * K * 4);
  const rows = pool.floats(at, N * K);
  if (matrix.kind === "float" && matrix.type === "bf16") {
    const bits = new Uint32Array(rows.buffer, rows.byteOffset, rows.length);
    const { values } = matrix;
    for (let i = 0; i < bits.length; i++) bits[i] = values[i]! << 16;
  } else if (matrix.kind === "float" && matrix.type === "f32") rows.set(matrix.values);
  else for (let n = 0; n < N; n++) matrixRowToFloat(matrix, n, rows.subarray(n * K, (n + 1) * K));
  if (inputOrder) {
    const row = new Float32Array(K);
    for (let n = 0; n < N; n++) {
      row.set(rows.subarray(n * K, (n + 1) * K));
      for (let j = 0; j < K; j++) rows[n * K + inputOrder[j]!] = row[j]!;
    }
  }
  if (factors)
    for (let i = 0, k = 0; i < rows.length; i++, k = k + 1 === K ? 0 : k + 1) rows[i] = rows[i]! * factors[k]!;
  if (divisors)
    for (let n = 0; n < N; n++) {
      const row = rows.subarray(n * K, (n + 1) * K);
      for (let k = 0; k < K; k++) row[k] = row[k]! / divisors[n]!;
    }
  const [within] = await pool.run([[["allWithin", at, N * K, LARGEST_WEIGHT]]]);
  if (within) return { at, N, K };
  const wrong = rows.findIndex((w) => !(Math.abs(w) <= LARGEST_WEIGHT));
  throw new HalfbyteError("ERR_NON_FINITE", "a weight is not finite, or nearly so", {
    place: name,
    got: `${rows[wrong]} in row ${Math.floor(wrong / K)}, column ${wrong % K}`,
  });
}
