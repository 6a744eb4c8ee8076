import type { OpenModel } from "../../src/models/open-model.ts";
import type { GraphOp } from "../../src/plan/graph.ts";
import type { MatrixSource } from "../../src/weights/matrix-source.ts";
import { matrixRowToFloat } from "../../src/weights/unpack.ts";

/** Factors are spread evenly, by their logarithm, between 1/√2 and √2. */
const SPREAD = 0.5;

/**
 * A model whose weights stand on a 4-bit grid, moved off it without changing what it computes, but for f32 rounding: each
 * input channel of a matrix is scaled, and what makes that channel is scaled by the inverse (the norm before it, the rows of
 * `up` before `down`, those of `v` before the output of attention). Weights come out as f32.
 */
export async function offGrid(model: OpenModel, seed: number): Promise<OpenModel["weights"]> {
  const random = randomFactors(seed);
  const columns = new Map<string, Float32Array>();
  const rows = new Map<string, Float32Array>();
  const vectors = new Map<string, Float32Array>();
  const { ops } = model.graph;
  const linears = ops.filter((op) => op.op === "linear");
  const maker = (value: unknown): GraphOp | undefined => ops.find((op) => "out" in op && op.out === value);
  for (const input of new Set(linears.map((op) => op.input))) {
    const takers = linears.filter((op) => op.input === input).map((op) => op.weight);
    let made = maker(input);
    if (made?.op === "gather") made = maker(made.input);
    if (takers.some((name) => !/\d/.test(name))) continue;
    const factors = random(input.width);
    const inverse = factors.map((factor) => 1 / factor);
    if (made?.op === "norm") vectors.set(made.weight, inverse);
    else if (made?.op === "gate") rows.set(linears.find((op) => op.out === made.up)!.weight, inverse);
    else if (made?.op === "attention") {
      // Query heads share the values of one head.
      const { heads, kvHeads, headSize } = made.shape;
      const share = heads / kvHeads;
      const at = (i: number): number => Math.floor(Math.floor(i / headSize) / share) * headSize + (i % headSize);
      for (let i = 0; i < factors.length; i++) factors[i] = factors[at(i)]!;
      const v = linears.find((op) => op.out === made.v)!.weight;
      rows.set(
        v,
        inverse
          .slice(0, kvHeads * headSize)
          .map((_, j) => 1 / factors[Math.floor(j / headSize) * share * headSize + (j % headSize)]!),
      );
    } else continue;
    for (const taker of takers) columns.set(taker, factors);
  }
  const { weights } = model;
  return {
    ...weights,
    matrix: (name) => scaled(weights.matrix(name), rows.get(name), columns.get(name)),
    async vector(name) {
      const inverse = vectors.get(name);
      const values = await weights.vector(name);
      return inverse ? values.map((value, k) => value * inverse[k]!) : values;
    },
  };
}

function scaled(source: MatrixSource, rows: Float32Array | undefined, columns: Float32Array | undefined): MatrixSource {
  if (!rows && !columns) return source;
  const { name, N, K } = source;
  const like = { kind: "float", type: "f32", N: 0, K, values: new Float32Array(0) } as const;
  return {
    name,
    N,
    K,
    rowBytes: 4 * K,
    like,
    async readRows(first, count) {
      const matrix = await source.readRows(first, count);
      const values = new Float32Array(count * K);
      for (let n = 0; n < count; n++) {
        const row = values.subarray(n * K, (n + 1) * K);
        matrixRowToFloat(matrix, n, row);
        for (let k = 0; k < K; k++) row[k] = row[k]! * (columns?.[k] ?? 1) * (rows?.[first + n] ?? 1);
      }
      return { ...like, N: count, values };
    },
  };
}

function randomFactors(seed: number): (count: number) => Float32Array {
  let state = seed >>> 0 || 1;
  const bits = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
  return (count) => Float32Array.from({ length: count }, () => 2 ** (SPREAD * (bits() / 2 ** 31 - 1)));
}
