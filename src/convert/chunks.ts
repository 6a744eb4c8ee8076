import type { MatrixSource } from "../weights/matrix-source.ts";
import type { Matrix } from "../weights/quantized-matrix.ts";

/** Weights in memory at once: they stand there as codes, as what they are read from and as what they become. */
const CHUNK_WEIGHTS: number = 4 * 1024 * 1024;
/** Words of every encoding hold whole numbers of so many outputs. */
const UNIT = 16;

/** Rows of a matrix that are worked on together: a multiple of 16. */
export function chunkRows(K: number, weights: number = CHUNK_WEIGHTS): number {
  return Math.max(1, Math.floor(weights / K / UNIT)) * UNIT;
}

/** Reads a matrix from its first row to its last, some at a time. */
export async function eachChunk(
  source: MatrixSource,
  signal: AbortSignal | undefined,
  visit: (rows: Matrix, first: number) => void | Promise<void>,
  weights?: number,
): Promise<void> {
  const step = chunkRows(source.K, weights);
  for (let first = 0; first < source.N; first += step) {
    signal?.throwIfAborted();
    await visit(await source.readRows(first, Math.min(step, source.N - first)), first);
  }
}
