import { readFile } from "node:fs/promises";
import { bf16ToF32 } from "../../src/arithmetic/half.ts";
import { referenceExecutor } from "../../src/executors/reference/reference.ts";
import { memorySource } from "../../src/formats/memory-source.ts";
import { openSafetensors } from "../../src/formats/safetensors/open-safetensors.ts";
import { tensorBytes } from "../../src/formats/tensor-bytes.ts";
import { compile } from "../../src/plan/compile.ts";
import { Graph } from "../../src/plan/graph.ts";
import type { ActivationMode } from "../../src/plan/plan.ts";
import type { MatrixSource } from "../../src/weights/matrix-source.ts";
import { packedLayout } from "../../src/weights/packed-layout.ts";
import type { GroupValues, Matrix, QuantizedMatrix } from "../../src/weights/quantized-matrix.ts";
import { goldenPath } from "../golden-data.ts";
import { sliceRows } from "../random-plan.ts";

/** The tensors of one case of one kernel. */
export interface GoldenCase {
  readonly name: string;
  shape(tensor: string): readonly number[];
  /** Numbers, or the bits of bf16. */
  raw(tensor: string): Int8Array | Uint8Array | Uint16Array | Float32Array;
  /** As f32. */
  floats(tensor: string): Float32Array;
  has(tensor: string): boolean;
}

/** Cases of a file of golden kernels: all of them where the large data stand beside the project, else those kept in it. */
export async function goldenCases(file: string): Promise<GoldenCase[]> {
  const whole = goldenPath("golden", `${file}.safetensors`);
  const own = new URL("../golden/linear-kernels.safetensors", import.meta.url);
  const { tensors } = await openSafetensors(memorySource(await readFile(whole ?? own)));
  const prefix = whole ? "" : `${file}/`;
  const cases = new Map<
    string,
    Map<string, { dtype: string; shape: readonly number[]; bytes: Uint8Array<ArrayBuffer> }>
  >();
  for (const [name, tensor] of tensors) {
    if (!name.startsWith(prefix)) continue;
    const [caseName, ...rest] = name.slice(prefix.length).split("/");
    const known = cases.get(caseName!) ?? cases.set(caseName!, new Map()).get(caseName!)!;
    known.set(rest.join("/"), { dtype: tensor.dtype, shape: tensor.shape, bytes: await tensorBytes(tensor) });
  }
  return [...cases].map(([name, known]) => {
    const raw = (tensor: string): ReturnType<GoldenCase["raw"]> => {
      const { dtype, bytes } = known.get(tensor)!;
      const { buffer } = bytes;
      if (dtype === "BF16") return new Uint16Array(buffer);
      if (dtype === "F32") return new Float32Array(buffer);
      return dtype === "I8" ? new Int8Array(buffer) : bytes;
    };
    return {
      name,
      raw,
      shape: (tensor) => known.get(tensor)!.shape,
      has: (tensor) => known.has(tensor),
      floats: (tensor) => Float32Array.from(raw(tensor), known.get(tensor)!.dtype === "BF16" ? bf16ToF32 : Number),
    };
  });
}

/** Bits of bf16, or floats, as group values. */
export function groupValues(values: Uint16Array | Float32Array): GroupValues {
  return values instanceof Float32Array ? { kind: "f32", values } : { kind: "bf16", values };
}

/** [groups, N] as [N, groups]. */
export function transposed<T extends Int8Array | Uint16Array | Float32Array>(values: T, N: number): T {
  const groups = values.length / N;
  return values.map((_, i) => values[(i % groups) * N + Math.floor(i / groups)]!) as T;
}

/** Low nibble first. */
export function nibbles(packed: ArrayLike<number>): Uint8Array {
  return Uint8Array.from({ length: packed.length * 2 }, (_, i) => (packed[i >> 1]! >> (4 * (i % 2))) & 15);
}

/** A 4-bit matrix; its zero point is 8 unless another is given. */
export function fourBit(N: number, K: number, codes: Uint8Array, rest: Partial<QuantizedMatrix>): QuantizedMatrix {
  const scale = rest.scale!;
  const groups = "values" in scale ? scale.values.length / N : 1;
  return { kind: "quantized", N, K, bits: 4, groupSize: K / groups, codes, zero: 8, scale, ...rest };
}

/** x · Wᵀ, f32 [M, N], as the reference executor computes it in a plan. */
export async function product(
  x: Float32Array,
  matrix: QuantizedMatrix,
  activations: ActivationMode,
  bias?: Float32Array,
): Promise<Float32Array> {
  const { N, K } = matrix;
  const M = x.length / K;
  const rows: Matrix = { kind: "float", N: M, K, type: "f32", values: x };
  const graph = new Graph();
  graph.output = graph.linear(graph.gather(graph.embed("x", K)), "w", N, "y", bias && "bias");
  const layouts = new Map([
    ["x", packedLayout(rows, M, "x")],
    ["w", packedLayout(matrix, N, "w")],
  ]);
  const plan = compile(graph, layouts, new Map([["bias", N]]), { activations, maxRows: M, maxLogitRows: M });
  const source = (name: string, all: Matrix): MatrixSource => ({
    ...{ name, N: all.N, K, like: all, rowBytes: K },
    readRows: async (first, count) => sliceRows(all, first, count),
  });
  const runner = await referenceExecutor.load(plan, {
    matrix: (name) => (name === "x" ? source("x", rows) : source("w", matrix)),
    vector: async () => bias!,
  });
  runner.ensureBlocks(Math.ceil(M / 16));
  const every = Int32Array.from({ length: M }, (_, m) => m);
  const blocks = every.slice(0, Math.ceil(M / 16));
  return runner.step({ tokenIds: every, segments: [{ rows: M, position: 0, blocks }], logitRows: every });
}

/** The product in f64, of the weights as they are and rows that are not quantised. */
export function exactProduct(x: Float32Array, weights: Float64Array, K: number): Float64Array {
  const [M, N] = [x.length / K, weights.length / K];
  return Float64Array.from({ length: M * N }, (_, i) => {
    const [m, n] = [Math.floor(i / N), i % N];
    let sum = 0;
    for (let k = 0; k < K; k++) sum += x[m * K + k]! * weights[n * K + k]!;
    return sum;
  });
}
