import { readFile } from "node:fs/promises";
import { f32ToBf16, f32ToF16 } from "../src/arithmetic/half.ts";
import type { OrderedMatrix } from "../src/formats/encodings/form.ts";
import type { Tensor } from "../src/formats/encodings/tensors.ts";
import { memorySource } from "../src/formats/memory-source.ts";
import { openSafetensors } from "../src/formats/safetensors/open-safetensors.ts";
import { tensorBytes } from "../src/formats/tensor-bytes.ts";
import type { CodeBits, GroupValues, QuantizedMatrix } from "../src/weights/quantized-matrix.ts";
import { matrixRowToFloat } from "../src/weights/unpack.ts";
import { seededRandom } from "./mutate.ts";

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

export interface MatrixKind {
  readonly bits: CodeBits;
  readonly scale: "f16" | "bf16" | "f32";
  /** Significant bits of scales. */
  readonly scaleBits: number;
  readonly zeros: "middle" | "any";
  readonly offsets?: boolean;
  readonly order?: boolean;
}

/** A random matrix [N, K], or one whose columns are out of order; offsets are any bf16, zeros any code. */
export function randomMatrix(seed: number, N: number, K: number, groupSize: number, kind: MatrixKind): OrderedMatrix {
  const random = seededRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const count = K / groupSize;
  const real = (bits: number): number => (2 ** (bits - 1) + below(2 ** (bits - 1))) * 2 ** -(bits + below(6));
  const stored = (type: MatrixKind["scale"], bits: number): GroupValues => {
    const values = Float32Array.from({ length: N * count }, () => (below(4) === 0 ? -1 : 1) * real(bits));
    if (type === "f32") return { kind: type, values };
    return { kind: type, values: Uint16Array.from(values, type === "f16" ? f32ToF16 : f32ToBf16) };
  };
  const middle = 2 ** (kind.bits - 1);
  const matrix: QuantizedMatrix = {
    kind: "quantized",
    N,
    K,
    bits: kind.bits,
    groupSize,
    codes: Uint8Array.from({ length: N * K }, () => below(2 ** kind.bits)),
    scale: stored(kind.scale, kind.scaleBits),
    zero: kind.zeros === "middle" ? middle : Uint8Array.from({ length: N * count }, () => below(2 ** kind.bits)),
    ...(kind.offsets && { offset: stored("bf16", 8) }),
  };
  return kind.order ? { matrix, inputOrder: randomOrder(K, groupSize, below) } : { matrix };
}

/** Inputs ascend inside a group, as readers make them. */
function randomOrder(K: number, groupSize: number, below: (limit: number) => number): Int32Array {
  const inputs = Int32Array.from({ length: K }, (_, k) => k);
  for (let k = K - 1; k > 0; k--) {
    const other = below(k + 1);
    [inputs[k], inputs[other]] = [inputs[other]!, inputs[k]!];
  }
  for (let k = 0; k < K; k += groupSize) inputs.subarray(k, k + groupSize).sort();
  return inputs;
}
