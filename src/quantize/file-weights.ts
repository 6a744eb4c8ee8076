import { eachChunk } from "../convert/chunks.ts";
import { folderItems } from "../convert/folder-items.ts";
import { HalfbyteError } from "../errors.ts";
import type { GgufFile } from "../formats/gguf/open-gguf.ts";
import { ggufMatrix } from "../formats/read-tensor.ts";
import type { HuggingFaceFolder } from "../formats/safetensors/hugging-face-folder.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import { groupCount, type QuantizedMatrix } from "../weights/quantized-matrix.ts";
import { groupValue, matrixRowToFloat, offsetValue } from "../weights/unpack.ts";

const LARGEST_F32 = 3.4e38;

/** Everything in a file that means floats, under the names it has there; vectors are matrices of one row. */
export async function fileWeights(file: GgufFile | HuggingFaceFolder): Promise<MatrixSource[]> {
  if ("metadata" in file) return [...file.tensors.values()].filter(({ type }) => type.decodes).map(ggufMatrix);
  const { items } = await folderItems(file);
  return items.flatMap((item) => ("matrix" in item ? [item.matrix] : []));
}

/** Codes and their zero points differ by less. */
const LARGEST_STEP = 256;

/** Whether no weight can be other than finite by what its group has: far fewer numbers than there are weights. */
function hasFiniteGroups(rows: QuantizedMatrix): boolean {
  const { N, K, groupSize, scale, offset, codeBook } = rows;
  if (codeBook) return false;
  const groups = groupCount(K, groupSize);
  for (let n = 0; n < N; n++)
    for (let g = 0; g < groups; g++) {
      const largest = Math.abs(groupValue(rows, scale, n, g)) * LARGEST_STEP;
      if (!(largest + (offset ? Math.abs(offsetValue(rows, n, g)) : 0) < LARGEST_F32)) return false;
    }
  return true;
}

/** Throws ERR_NON_FINITE, with the tensor as the place, for the first weight that is NaN or infinite. */
export async function checkFinite(source: MatrixSource, signal: AbortSignal | undefined): Promise<void> {
  const { name, N, K, inputOrder } = source;
  const row = new Float32Array(K);
  await eachChunk(source, signal, (rows, first) => {
    if (rows.kind === "quantized" && hasFiniteGroups(rows)) return;
    for (let n = 0; n < rows.N; n++) {
      matrixRowToFloat(rows, n, row);
      let at = 0;
      while (at < K && Number.isFinite(row[at]!)) at++;
      if (at === K) continue;
      const column = inputOrder?.[at] ?? at;
      throw new HalfbyteError("ERR_NON_FINITE", "a weight that is to be kept is not finite", {
        place: name,
        got: `${row[at]} at ${N === 1 ? "" : `row ${first + n}, column `}${column}`,
        remedy: "the file is damaged, or was written so: fetch or make it anew",
      });
    }
  });
}
