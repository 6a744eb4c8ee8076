import { eachChunk } from "../convert/chunks.ts";
import { folderItems } from "../convert/folder-items.ts";
import { HalfbyteError } from "../errors.ts";
import type { GgufFile } from "../formats/gguf/open-gguf.ts";
import { ggufMatrix } from "../formats/read-tensor.ts";
import type { HuggingFaceFolder } from "../formats/safetensors/hugging-face-folder.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import { matrixRowToFloat } from "../weights/unpack.ts";

/** Everything in a file that means floats, under the names it has there; vectors are matrices of one row. */
export async function fileWeights(file: GgufFile | HuggingFaceFolder): Promise<MatrixSource[]> {
  if ("metadata" in file) return [...file.tensors.values()].filter(({ type }) => type.decodes).map(ggufMatrix);
  const { items } = await folderItems(file);
  return items.flatMap((item) => ("matrix" in item ? [item.matrix] : []));
}

/** Throws ERR_NON_FINITE, with the tensor as the place, for the first weight that is NaN or infinite. */
export async function checkFinite(source: MatrixSource, signal: AbortSignal | undefined): Promise<void> {
  const { name, N, K, inputOrder } = source;
  const row = new Float32Array(K);
  await eachChunk(source, signal, (rows, first) => {
    for (let n = 0; n < rows.N; n++) {
      matrixRowToFloat(rows, n, row);
      const at = row.findIndex((value) => !Number.isFinite(value));
      if (at < 0) continue;
      const column = inputOrder?.[at] ?? at;
      throw new HalfbyteError("ERR_NON_FINITE", "a weight that is to be kept is not finite", {
        place: name,
        got: `${row[at]} at ${N === 1 ? "" : `row ${first + n}, column `}${column}`,
        remedy: "the file is damaged, or was written so: fetch or make it anew",
      });
    }
  });
}
