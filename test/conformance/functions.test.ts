import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { PlanRunner } from "../../src/executors/executor.ts";
import { referenceExecutor } from "../../src/executors/reference/reference.ts";
import { compile } from "../../src/plan/compile.ts";
import { type GateKind, Graph } from "../../src/plan/graph.ts";
import { packedLayout } from "../../src/weights/packed-layout.ts";
import type { FloatMatrix } from "../../src/weights/quantized-matrix.ts";
import { type RandomModel, randomModel, sliceRows } from "../random-plan.ts";
import { firstDifference, VARIANTS } from "./conformance.ts";

const golden = JSON.parse(readFileSync(new URL("../golden/functions.json", import.meta.url), "utf8")) as Record<
  string,
  [string, string][]
>;

const GATES: Readonly<Record<GateKind, string>> = {
  silu: "siluF32",
  "gelu-tanh": "geluTanhF32",
  "gelu-erf": "geluErfF32",
};

const bitsOf = (hex: string): number => Number.parseInt(hex, 16) | 0;

/** A model whose one token's result is the gate function of the inputs, times one. */
function gateModel(kind: GateKind, inputs: Int32Array): RandomModel {
  const K = inputs.length;
  const float = (values: Float32Array): FloatMatrix => ({ kind: "float", N: 1, K, type: "f32", values });
  const matrices = new Map([
    ["inputs", float(new Float32Array(inputs.slice().buffer))],
    ["ones", float(new Float32Array(K).fill(1))],
  ]);
  const graph = new Graph();
  graph.output = graph.gather(graph.gate(graph.embed("inputs", K), graph.embed("ones", K), kind));
  const layouts = new Map([...matrices].map(([name, m]) => [name, packedLayout(m, 1, name)]));
  const matrix = (name: string) => {
    const like = matrices.get(name)!;
    return { name, N: 1, K, like, rowBytes: K * 4, readRows: async (f: number, n: number) => sliceRows(like, f, n) };
  };
  const plan = compile(graph, layouts, new Map(), { maxRows: 1 });
  return { plan, matrices, weights: { matrix, vector: async () => new Float32Array(0) } };
}

async function oneStep(runner: PlanRunner): Promise<Int32Array> {
  runner.ensureBlocks(1);
  const one = Int32Array.of(0);
  const logits = await runner.step({
    tokenIds: one,
    segments: [{ rows: 1, position: 0, blocks: one }],
    logitRows: one,
  });
  return new Int32Array(logits.slice().buffer);
}

const isNaNBits = (bits: number): boolean => (bits & 0x7fffffff) > 0x7f800000;

/** Which bits a NaN has is left open: all become one. */
const oneNaN = (bits: Int32Array): Int32Array => bits.map((word) => (isNaNBits(word) ? 0x7fc00000 : word));

describe.each(VARIANTS.filter(({ skipped, expected }) => !skipped && expected.threads === 1))("$title", ({ load }) => {
  it.each(Object.entries(GATES))("has the golden bits of %s", async (kind, name) => {
    const pairs = golden[name]!;
    const runner = await load(
      gateModel(
        kind as GateKind,
        Int32Array.from(pairs, ([input]) => bitsOf(input)),
      ),
    );
    const got = oneNaN(await oneStep(runner));
    const wanted = oneNaN(Int32Array.from(pairs, ([, output]) => bitsOf(output)));
    expect(pairs.length).toBeGreaterThan(199);
    expect(firstDifference([got], [wanted])).toBeUndefined();
    await runner.dispose();
  });

  it.each(["f16", "f32"] as const)("lets a NaN reach what the reference lets it reach, cache %s", async (cacheType) => {
    // A NaN in the embedding would reach the logits of all rows through an output matrix that is the same.
    const options = { maxRows: 24, maxLogitRows: 24, cacheType };
    let model: RandomModel;
    for (let seed = 22; ; seed++) {
      model = randomModel({ seed, kinds: ["f32"], compile: options });
      if (model.matrices.has("head")) break;
    }
    const embedding = model.matrices.get("embedding") as FloatMatrix;
    embedding.values[7 * embedding.K + 3] = Number.NaN;
    const blocks = Int32Array.from([1, 0]);
    const run = async (runner: PlanRunner): Promise<Int32Array[]> => {
      runner.ensureBlocks(2);
      const bits: Int32Array[] = [];
      // The same blocks again after a sequence with a NaN: what lies in them must not come back.
      for (const token of [7, 5]) {
        const tokenIds = Int32Array.from({ length: 20 }, (_, i) => (i === 9 ? token : i % 5));
        const logitRows = Int32Array.from({ length: 20 }, (_, i) => i);
        for (const rows of [20, 6]) {
          const logits = await runner.step({
            tokenIds: tokenIds.subarray(0, rows),
            segments: [{ rows, position: 0, blocks }],
            logitRows: logitRows.subarray(0, rows),
          });
          bits.push(oneNaN(new Int32Array(logits.slice().buffer)));
        }
      }
      return bits;
    };
    const runner = await load(model);
    const got = await run(runner);
    await runner.dispose();
    const wanted = await run(await referenceExecutor.load(model.plan, model.weights));
    expect(got.map((bits) => bits.some(isNaNBits))).toEqual([true, false, false, false]);
    expect(firstDifference(got, wanted)).toBeUndefined();
  });
});
