import type { MatrixSource } from "../weights/matrix-source.ts";
import { takeRows } from "../weights/slice-matrix.ts";

/**
 * Outputs of a matrix in an order of their own. They are spread over the file, so all of it is read at the first rows that
 * are asked for, and those taken stay in memory until the last has been.
 */
export function takenRows(source: MatrixSource, rows: Int32Array): MatrixSource {
  let held: ReturnType<MatrixSource["readRows"]> | undefined;
  const { ggml, ...plain } = source;
  return {
    ...plain,
    N: rows.length,
    async readRows(first, count) {
      held ??= source.readRows(0, source.N).then((all) => takeRows(all, rows));
      const taken = await held;
      if (first + count >= rows.length) held = undefined;
      return takeRows(
        taken,
        Int32Array.from({ length: count }, (_, i) => first + i),
      );
    },
  };
}
