import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { WeightSet } from "../../src/executors/executor.ts";
import { loadAddon } from "../../src/executors/native/addon.ts";
import { nativeExecutor } from "../../src/executors/native/native-executor.ts";
import { decodeToMatrix } from "../../src/formats/ggml/decode.ts";
import { ggmlTypes } from "../../src/formats/ggml/types.ts";
import { memorySource } from "../../src/formats/memory-source.ts";
import { openSafetensors } from "../../src/formats/safetensors/open-safetensors.ts";
import { tensorBytes } from "../../src/formats/tensor-bytes.ts";
import { compile } from "../../src/plan/compile.ts";
import { Graph } from "../../src/plan/graph.ts";
import type { MatrixSource } from "../../src/weights/matrix-source.ts";
import { packedLayout } from "../../src/weights/packed-layout.ts";
import { Random, randomMatrix, sliceRows } from "../random-plan.ts";

const missing = await nativeExecutor.unavailable();
const file = readFileSync(new URL("../golden/ggml-blocks.safetensors", import.meta.url));
const golden = await openSafetensors(memorySource(file));
const decodable = ggmlTypes().filter(({ decodes }) => decodes);
const K = 512;
/** Not a multiple of 16, so that the last block is not full. */
const N = 37;
const GOLDEN_ROWS = 4;

/** Logits of the embedding times a matrix of N rows of a ggml type, packed from blocks or from decoded rows. */
async function logitsOf(type: (typeof decodable)[number], blocks: boolean): Promise<Float32Array> {
  const raw = type.name === "F32" ? f32Rows() : await tensorBytes(golden.tensors.get(`${type.name}/raw`)!);
  const rowBytes = raw.length / GOLDEN_ROWS;
  const bytes = new Uint8Array(N * rowBytes);
  for (let n = 0; n < N; n++) {
    const row = (n * 7) % GOLDEN_ROWS;
    bytes.set(raw.subarray(row * rowBytes, (row + 1) * rowBytes), n * rowBytes);
  }
  const rows = (first: number, count: number): Uint8Array =>
    bytes.subarray(first * rowBytes, (first + count) * rowBytes);
  const like = decodeToMatrix(type, new Uint8Array(0), 0, K);
  const embedding = randomMatrix(new Random(1), "f32", 8, K);
  const source: MatrixSource = {
    name: type.name,
    N,
    K,
    like,
    rowBytes,
    readRows: async (first, count) => decodeToMatrix(type, rows(first, count), count, K),
    ...(blocks && {
      ggml: { type: type.id, readInto: async (first, count, target) => target.set(rows(first, count)) },
    }),
  };
  const weights: WeightSet = {
    matrix: (name) =>
      name === "matrix"
        ? source
        : {
            name,
            N: 8,
            K,
            like: embedding,
            rowBytes: K * 4,
            readRows: async (first, count) => sliceRows(embedding, first, count),
          },
    vector: () => Promise.reject(new Error("none")),
  };
  const graph = new Graph();
  graph.output = graph.linear(graph.gather(graph.embed("embedding", K)), "matrix", N, "logits");
  const layouts = new Map([
    ["embedding", packedLayout(embedding, 8, "embedding")],
    ["matrix", packedLayout(like, N, "matrix")],
  ]);
  const plan = compile(graph, layouts, new Map(), { maxRows: 8, maxLogitRows: 8 });
  const runner = await nativeExecutor.load(plan, weights, { threads: 2 });
  runner.ensureBlocks(1);
  const every = Int32Array.of(0, 1, 2, 3, 4, 5, 6, 7);
  const segments = [{ rows: 8, position: 0, blocks: Int32Array.of(0) }];
  const logits = (await runner.step({ tokenIds: every, segments, logitRows: every })).slice();
  await runner.dispose();
  return logits;
}

function f32Rows(): Uint8Array {
  const random = new Random(2);
  return new Uint8Array(Float32Array.from({ length: GOLDEN_ROWS * K }, () => random.float()).buffer);
}

describe.skipIf(missing)("packing on the pool", () => {
  it.each(decodable.map((type) => [type.name, type] as const))(
    "%s blocks give the weights of their decoded rows",
    async (_, type) => {
      expect(loadAddon().canPack(type.id)).toBe(true);
      const packed = await logitsOf(type, true);
      expect(packed.every(Number.isFinite)).toBe(true);
      expect(packed.some((x) => x !== 0)).toBe(true);
      expect(new Uint32Array(packed.buffer)).toEqual(new Uint32Array((await logitsOf(type, false)).buffer));
    },
  );
});
