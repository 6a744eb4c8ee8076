import type { GgmlType } from "../formats/ggml/types.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";

interface Growth {
  readonly count: number;
  /** Bytes in the model that is read, and in the file to be. */
  readonly before: number;
  readonly after: number;
  /** Whether any has its inputs in an order of their own, which no blocks take, rounded or not. */
  readonly ordered: boolean;
}

/** Quantised matrices that become floats, since no smaller type of a GGUF file holds them exactly. */
export class GrownMatrices {
  readonly #byType = new Map<string, Growth>();

  /** Counts a matrix if it is one of them. */
  add({ like, N, K, rowBytes, inputOrder }: MatrixSource, type: GgmlType): void {
    if (like.kind !== "quantized" || type.blockSize > 1) return;
    const { count, before, after, ordered } = this.#byType.get(type.name) ?? NONE;
    this.#byType.set(type.name, {
      count: count + 1,
      before: before + N * rowBytes,
      after: after + N * K * type.blockBytes,
      ordered: ordered || inputOrder !== undefined,
    });
  }

  notes(): string[] {
    return [...this.#byType].map(([type, { count, before, after, ordered }]) => {
      const what = count === 1 ? "1 matrix" : `${count} matrices`;
      const why = `no smaller type of GGUF holds ${count === 1 ? "it" : "them"} exactly`;
      const remedy = ordered ? "" : "; gguf:q4_1 or gguf:q8_0 with --lossy rounds";
      return `${what} became ${type} and grew from ${megabytes(before)} to ${megabytes(after)}: ${why}${remedy}`;
    });
  }
}

const NONE: Growth = { count: 0, before: 0, after: 0, ordered: false };

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 1e7 ? 2 : 0)} MB`;
}
