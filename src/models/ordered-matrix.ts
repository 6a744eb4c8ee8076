import { takeColumns } from "../formats/encodings/input-order.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import type { Matrix } from "../weights/quantized-matrix.ts";

/** A quantised matrix with its columns in that order, so that its groups are runs of them; as it is where there is none. */
export function inOrder(source: MatrixSource, order: Int32Array | undefined): MatrixSource {
  if (!order) return source;
  return {
    ...source,
    inputOrder: order,
    async readRows(first, count) {
      const rows = (await source.readRows(first, count)) as Extract<Matrix, { kind: "quantized" }>;
      return { ...rows, codes: takeColumns(rows.codes, rows.N, order) };
    },
  };
}
