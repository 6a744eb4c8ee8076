import type { VouchedSource } from "../convert/folder-form.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import type { GroupValues, Matrix, QuantizedMatrix } from "../weights/quantized-matrix.ts";
import { matrixRowToFloat } from "../weights/unpack.ts";
import type { Grid } from "./grid.ts";
import type { KernelPool } from "./kernels/kernel-pool.ts";
import { loadRows } from "./kernels/load-rows.ts";
import { roundMatrix, searchMatrix } from "./kernels/matrix-kernels.ts";
import type { MatrixChoice } from "./options.ts";

/** Rows rounded as they are read, without a calibration text: memory holds those alone. */
export function roundedSource(pool: KernelPool, source: MatrixSource, choice: MatrixChoice): VouchedSource {
  const { name, N, K } = source;
  const { grid } = choice;
  return vouched({ name, N, K, like: emptyMatrix(K, grid), rowBytes: (K * grid.bits) / 8, readRows }, choice);

  function readRows(first: number, count: number): Promise<QuantizedMatrix> {
    return pool.alone(async () => {
      const mark = pool.mark();
      try {
        const rows = await loadRows(pool, await source.readRows(first, count), name, source);
        if (choice.method === "rtn") return await roundMatrix(pool, rows, grid);
        return await searchMatrix(pool, rows, grid, pool.put(new Float32Array(K).fill(1)));
      } finally {
        pool.release(mark);
      }
    });
  }
}

/** A matrix with what is known of it, so that no one has to look at it before it is written. */
export function vouched(source: MatrixSource, { grid, blocks }: MatrixChoice): VouchedSource {
  const { bits, scaleType: scale, kind } = grid;
  return { ...source, vouched: { bits, scale, symmetric: kind === "symmetric", ...(blocks && { blocks }) } };
}

/** A matrix on that grid with no rows. */
export function emptyMatrix(K: number, { kind, bits, groupSize, zero, scaleType, superSize }: Grid): QuantizedMatrix {
  const none: GroupValues =
    superSize !== undefined
      ? { kind: "two-level-u8", codes: new Uint8Array(0), superValues: new Uint16Array(0), superSize }
      : scaleType === "f32"
        ? { kind: "f32", values: new Float32Array(0) }
        : { kind: scaleType, values: new Uint16Array(0) };
  return {
    kind: "quantized",
    N: 0,
    K,
    bits,
    groupSize,
    codes: new Uint8Array(0),
    scale: none,
    zero: kind === "zero-point" ? new Uint8Array(0) : zero,
    ...(kind === "offset" && { offset: none }),
  };
}

/** The weights of a quantised matrix as floats: what stays as it is stands in no other encoding's codes. */
export function floatSource(source: MatrixSource): MatrixSource {
  const { name, N, K, like } = source;
  if (like.kind === "float") return source;
  const empty = { kind: "float", type: "f32", N: 0, K, values: new Float32Array(0) } as const;
  return {
    name,
    N,
    K,
    rowBytes: 4 * K,
    like: empty,
    ...(source.inputOrder && { inputOrder: source.inputOrder }),
    readRows: async (first, count) => ({ ...empty, N: count, values: floatsOf(await source.readRows(first, count)) }),
  };
}

function floatsOf(matrix: Matrix): Float32Array {
  const { N, K } = matrix;
  const values = new Float32Array(N * K);
  for (let n = 0; n < N; n++) matrixRowToFloat(matrix, n, values.subarray(n * K, (n + 1) * K));
  return values;
}
