import { readFile } from "node:fs/promises";
import type { Tensor } from "../src/formats/encodings/tensors.ts";
import { memorySource } from "../src/formats/memory-source.ts";
import { openSafetensors } from "../src/formats/safetensors/open-safetensors.ts";
import { tensorBytes } from "../src/formats/tensor-bytes.ts";
import type { QuantizedMatrix } from "../src/weights/quantized-matrix.ts";
import { matrixRowToFloat } from "../src/weights/unpack.ts";

/** Golden tensors by case and end of name: `CASE/NAME`, below `prefix`. */
export async function goldenCases(path: string, prefix = ""): Promise<Map<string, Record<string, Tensor>>> {
  const { tensors } = await openSafetensors(memorySource(await readFile(path), path));
  const cases = new Map<string, Record<string, Tensor>>();
  for (const [name, tensor] of tensors) {
    if (!name.startsWith(prefix)) continue;
    const [key, end] = name.slice(prefix.length).split("/") as [string, string];
    const parts = cases.get(key) ?? {};
    cases.set(key, parts);
    parts[end] = { dtype: tensor.dtype, shape: tensor.shape, bytes: await tensorBytes(tensor) };
  }
  return cases;
}

/** All weights, f32 [N, K]; column j goes to input `order[j]` where there is an order. */
export function weightsOf(matrix: QuantizedMatrix, order?: Int32Array): Float32Array {
  const { N, K } = matrix;
  const out = new Float32Array(N * K);
  const row = new Float32Array(K);
  for (let n = 0; n < N; n++) {
    matrixRowToFloat(matrix, n, row);
    for (let j = 0; j < K; j++) out[n * K + (order ? order[j]! : j)] = row[j]!;
  }
  return out;
}
