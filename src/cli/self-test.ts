import type { Executor, ExecutorInfo, LoadOptions, StepBatch, WeightSet } from "../executors/executor.ts";
import { compile } from "../plan/compile.ts";
import { Graph } from "../plan/graph.ts";
import type { Plan } from "../plan/plan.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import { type PackedLayout, packedLayout } from "../weights/packed-layout.ts";
import type { QuantizedMatrix } from "../weights/quantized-matrix.ts";

const VOCABULARY = 48;
const WIDTH = 64;
const HEADS = 2;
const GROUP = 32;

const BATCH: StepBatch = {
  tokenIds: Int32Array.of(3, 1, 4, 1, 5, 9, 2),
  segments: [{ rows: 7, position: 0, blocks: Int32Array.of(0) }],
  logitRows: Int32Array.of(6),
};

export interface SelfTest {
  readonly info: ExecutorInfo;
  readonly logits: Float32Array;
}

/** Loads one layer of a small 4-bit model into an executor and runs a step of seven tokens. Throws what loading throws. */
export async function runSelfTest(executor: Executor, options: LoadOptions): Promise<SelfTest> {
  const { plan, weights } = smallModel();
  const runner = await executor.load(plan, weights, options);
  try {
    runner.ensureBlocks(1);
    return { info: runner.executor, logits: (await runner.step(BATCH)).slice() };
  } finally {
    await runner.dispose();
  }
}

export function sameBits(a: Float32Array, b: Float32Array): boolean {
  const bits = (values: Float32Array): Int32Array => new Int32Array(values.buffer, values.byteOffset, values.length);
  return a.length === b.length && bits(a).every((word, i) => word === bits(b)[i]);
}

function smallModel(): { plan: Plan; weights: WeightSet } {
  const matrices = new Map<string, QuantizedMatrix>();
  const layouts = new Map<string, PackedLayout>();
  const matrix = (name: string, N: number): string => {
    const made = quantized(N, WIDTH, matrices.size + 1);
    matrices.set(name, made);
    layouts.set(name, packedLayout(made, N, name));
    return name;
  };
  const graph = new Graph();
  const table = graph.ropeTable({ rotary: WIDTH / HEADS, base: 10_000 });
  const embedding = matrix("embedding", VOCABULARY);
  let x = graph.embed(embedding, WIDTH);
  const normed = graph.norm(x, "norm", 1e-5);
  const [q, k, v] = ["q", "k", "v"].map((name) => graph.linear(normed, matrix(name, WIDTH), WIDTH, name));
  for (const value of [q!, k!]) graph.rope(value, HEADS, table, "halves");
  const shape = { heads: HEADS, kvHeads: HEADS, headSize: WIDTH / HEADS, scale: 0.25 };
  x = graph.add(x, graph.linear(graph.attention(0, q!, k!, v!, shape), matrix("o", WIDTH), WIDTH, "o"));
  const inner = graph.norm(x, "norm", 1e-5);
  const gate = graph.linear(inner, matrix("gate", WIDTH), WIDTH, "gate");
  const up = graph.linear(inner, matrix("up", WIDTH), WIDTH, "up");
  x = graph.add(x, graph.linear(graph.gate(gate, up, "silu"), matrix("down", WIDTH), WIDTH, "down"));
  graph.output = graph.linear(graph.norm(graph.gather(x), "norm", 1e-5), embedding, VOCABULARY, "logits");
  const plan = compile(graph, layouts, new Map([["norm", WIDTH]]), { maxRows: 8 });
  const weights: WeightSet = {
    matrix: (name) => memorySource(name, matrices.get(name)!),
    vector: async () => Float32Array.from({ length: WIDTH }, (_, i) => 1 + (i % 7) / 16),
  };
  return { plan, weights };
}

function quantized(N: number, K: number, seed: number): QuantizedMatrix {
  let state = seed;
  // Numerical Recipes' generator; any spread of codes serves.
  const next = (): number => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) >>> 16;
  const codes = Uint8Array.from({ length: N * K }, () => next() & 15);
  const values = Float32Array.from({ length: (N * K) / GROUP }, () => (1 + (next() & 255)) / 4096);
  return { kind: "quantized", N, K, bits: 4, groupSize: GROUP, codes, scale: { kind: "f32", values }, zero: 8 };
}

function memorySource(name: string, matrix: QuantizedMatrix): MatrixSource {
  const { N, K, codes } = matrix;
  const { values } = matrix.scale as { values: Float32Array };
  const groups = K / GROUP;
  const rows = (first: number, count: number): QuantizedMatrix => ({
    ...matrix,
    N: count,
    codes: codes.slice(first * K, (first + count) * K),
    scale: { kind: "f32", values: values.slice(first * groups, (first + count) * groups) },
  });
  return { name, N, K, like: rows(0, 0), rowBytes: K, readRows: async (first, count) => rows(first, count) };
}
