import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { goldenCases, weightsOf } from "../../../test/encodings.ts";
import { goldenPath } from "../../../test/golden-data.ts";
import { Random } from "../../../test/random-plan.ts";
import { bf16ToF32, f16ToF32 } from "../../arithmetic/half.ts";
import { typeNamed } from "../../convert/ggml-form.ts";
import { encodeCpuInt4 } from "../../formats/encodings/cpu-int4.ts";
import { decodeToFloat } from "../../formats/ggml/decode.ts";
import { encodeBlocks } from "../../formats/ggml/encode.ts";
import type { QuantizedMatrix } from "../../weights/quantized-matrix.ts";
import { groupValue } from "../../weights/unpack.ts";
import { codeOf, type Grid, type GridKind } from "../grid.ts";
import { addGram, cholesky, invertUpper } from "../reference/factor.ts";
import { gptqRow } from "../reference/gptq.ts";
import { roundRows } from "../reference/round-to-nearest.ts";
import { searchGroup } from "../reference/search.ts";
import { KernelPool } from "./kernel-pool.ts";
import { type KernelRows, roundMatrix, searchMatrix } from "./matrix-kernels.ts";

let pool: KernelPool;
beforeAll(async () => {
  pool = await KernelPool.create(2);
});
afterAll(() => pool.dispose());

function grid(kind: GridKind, groupSize: number, options: Partial<Grid> = {}): Grid {
  return { kind, bits: 4, groupSize, zero: 8, scaleType: "bf16", ...options };
}

function rowsOf(values: Float32Array, K: number): KernelRows {
  return { at: pool.put(values), N: values.length / K, K };
}

/** Weights as trained ones are spread, with an outlier here and there, and rows with nothing in them. */
function randomWeights(seed: number, N: number, K: number): Float32Array {
  const random = new Random(seed);
  return Float32Array.from({ length: N * K }, (_, i) => {
    const n = Math.floor(i / K);
    if (n % 7 === 5) return n % 2 ? 0 : 0.25;
    const bell = random.float() + random.float() + random.float();
    return random.below(97) === 0 ? 10 * bell : bell;
  });
}

const GRIDS: [string, Grid][] = [
  ["symmetric, groups of 32", grid("symmetric", 32)],
  ["symmetric, groups of 64, f16", grid("symmetric", 64, { scaleType: "f16" })],
  ["symmetric, one group, 8 bits, f32", grid("symmetric", 192, { bits: 8, zero: 128, scaleType: "f32" })],
  ["zero points, groups of 48", grid("zero-point", 48)],
  ["zero points, 8 bits", grid("zero-point", 64, { bits: 8, scaleType: "f16" })],
  ["offsets, groups of 64", grid("offset", 64)],
  ["offsets from 0, f16", grid("offset", 32, { zero: 0, scaleType: "f16" })],
];
const K = 192;
const N = 37;

/** A group's parameters in a matrix, and its codes. */
function groupOf(matrix: QuantizedMatrix, n: number, g: number): { scale: number; zero: number; offset: number } {
  const groups = matrix.K / matrix.groupSize;
  const zero = typeof matrix.zero === "number" ? matrix.zero : matrix.zero[n * groups + g]!;
  return {
    scale: groupValue(matrix, matrix.scale, n, g),
    zero,
    offset: matrix.offset ? groupValue(matrix, matrix.offset, n, g) : 0,
  };
}

describe.each(GRIDS)("kernels with %s", (_, each) => {
  const weights = randomWeights(3, N, K);
  const groups = K / each.groupSize;

  it("round to nearest as the law does", async () => {
    const law = roundRows(weights, K, each);
    const got = await roundMatrix(pool, rowsOf(weights, K), each);
    expect(Buffer.compare(got.codes, law.codes)).toBe(0);
    for (let at = 0; at < N * groups; at++) {
      const { scale, zero, offset } = groupOf(got, Math.floor(at / groups), at % groups);
      expect([scale, each.kind === "offset" ? offset : zero]).toEqual([law.scales[at], law.seconds[at]]);
    }
  });

  it("search as the law does, and code by GPTQ as the law does", async () => {
    const random = new Random(8);
    const importance = Float32Array.from({ length: K }, () => random.float() ** 2 + 0.01);
    const order = Int32Array.from({ length: K }, (__, i) => (i * 5) % K);
    const factor = Float32Array.from({ length: K * K }, (__, i) => (i % (K + 1) === 0 ? 1 : random.float() / 8));
    const columns = Float32Array.from({ length: K * K }, (__, i) => factor[(i % K) * K + Math.floor(i / K)]!);
    const rows = rowsOf(weights, K);
    const searched = await searchMatrix(pool, rows, each, pool.put(importance));
    const gptq = { order: pool.put(order), factor: pool.put(columns) };
    const coded = await searchMatrix(pool, rows, each, pool.put(importance), gptq);
    for (let n = 0; n < N; n++) {
      const row = weights.subarray(n * K, (n + 1) * K);
      const parameters = Array.from({ length: groups }, (__, g) => {
        const [from, to] = [g * each.groupSize, (g + 1) * each.groupSize];
        return searchGroup(row.subarray(from, to), importance.subarray(from, to), each);
      });
      expect(Array.from(parameters, (___, g) => groupOf(searched, n, g))).toEqual(parameters);
      expect(Array.from(parameters, (___, g) => groupOf(coded, n, g))).toEqual(parameters);
      const codes = Uint8Array.from(row, (w, k) =>
        codeOf(w, parameters[Math.floor(k / each.groupSize)]!, 2 ** each.bits - 1),
      );
      expect(Buffer.compare(codes, searched.codes.subarray(n * K, (n + 1) * K))).toBe(0);
      const law = gptqRow(row, factor, order, parameters, each);
      expect(Buffer.compare(law, coded.codes.subarray(n * K, (n + 1) * K))).toBe(0);
    }
  });
});

describe("cpu_int4 by rounding to nearest", async () => {
  const own = fileURLToPath(new URL("../../../test/golden/cpu-int4-rounding.safetensors", import.meta.url));
  const cases = [...(await goldenCases(goldenPath("golden", "cpu_int4_pack.safetensors") ?? own))];

  it.each(cases)("has the bits of vLLM-Omni's own: %s", async (_, { weight, ...truth }) => {
    const bytes = weight!.bytes.slice().buffer;
    const values =
      weight!.dtype === "F32" ? new Float32Array(bytes) : Float32Array.from(new Uint16Array(bytes), bf16ToF32);
    const [outputs, inputs] = weight!.shape as [number, number];
    const groupSize = inputs / truth.weight_scale!.shape[1]!;
    const matrix = await roundMatrix(pool, rowsOf(values, inputs), grid("offset", groupSize));
    const written = encodeCpuInt4(matrix);
    expect(matrix.N).toBe(outputs);
    for (const key of ["weight_packed", "weight_scale", "weight_zero"] as const)
      expect(Buffer.compare(written[key].bytes, truth[key]!.bytes), key).toBe(0);
  });
});

/** The library divides weights by scales in bf16 or f16, which moves some across the middle between two codes. */
const SAME_CODES = 0.985;

const compressed = goldenPath("golden", "compressed_tensors_w4a16.safetensors");
const symmetric = compressed
  ? [...(await goldenCases(compressed, "sym_"))].filter(([name]) => /^(g|chan$)\w*$/.test(name))
  : [];
describe.skipIf(!compressed)("symmetric rounding to nearest (needs ../shared/golden)", () => {
  it.each(symmetric.filter(([name]) => !name.includes("actorder")))(
    "has the scales of compressed-tensors, and nearly all of its codes: %s",
    async (_, { weight, weight_scale, q }) => {
      const [type, read] = weight!.dtype === "F16" ? (["f16", f16ToF32] as const) : (["bf16", bf16ToF32] as const);
      const values = Float32Array.from(new Uint16Array(weight!.bytes.slice().buffer), read);
      const [outputs, inputs] = weight!.shape as [number, number];
      const groupSize = inputs / weight_scale!.shape[1]!;
      const matrix = await roundMatrix(pool, rowsOf(values, inputs), grid("symmetric", groupSize, { scaleType: type }));
      const scales = new Uint16Array(weight_scale!.bytes.slice().buffer);
      expect(matrix.scale).toEqual({ kind: type, values: scales });
      const same = new Int8Array(q!.bytes.slice().buffer).filter((code, i) => code + 8 === matrix.codes[i]);
      expect(same.length / (outputs * inputs)).toBeGreaterThan(SAME_CODES);
    },
  );
});

describe("kernels of the Hessian", () => {
  const size = 77;
  const stride = 80;
  const random = new Random(5);
  const rows = 120;
  const x = Float32Array.from({ length: rows * size }, () => random.float());
  const padded = (from: Float32Array | Float64Array, height: number): Float64Array => {
    const out = new Float64Array(height * stride);
    for (let r = 0; r < height; r++) for (let k = 0; k < size; k++) out[r * stride + k] = from[r * size + k]!;
    return out;
  };
  /** Entries j ≥ i, row after row. */
  const upper = (from: ArrayLike<number>, width: number): number[] => {
    const out: number[] = [];
    for (let i = 0; i < size; i++) for (let j = i; j < size; j++) out.push(from[i * width + j]!);
    return out;
  };
  const law = new Float32Array(size * size);
  addGram(x, size, law);
  addGram(x, size, law);

  it.each([false, true])(
    "add products of inputs, factor and invert as the law does (native, if any: %s)",
    async (native) => {
      const pool = await KernelPool.create(2, native);
      const at = pool.put(Float32Array.from(padded(x, rows)));
      const gram = pool.put(new Float32Array(stride * stride));
      await pool.run([[["addGram", at, rows, stride, gram, 0, 40]], [["addGram", at, rows, stride, gram, 40, stride]]]);
      await pool.run([[["addGram", at, rows, stride, gram, 0, stride]]]);
      expect(upper(pool.floats(gram, stride * stride), stride)).toEqual(upper(law, size));

      const order = Int32Array.from({ length: size }, (_, i) => (i * 5) % size);
      const a = new Float64Array(size * size);
      for (let p = 0; p < size; p++)
        for (let q = 0; q < size; q++) {
          const [i, j] = [order[size - 1 - p]!, order[size - 1 - q]!];
          a[p * size + q] = law[Math.min(i, j) * size + Math.max(i, j)]! + (p === q ? 0.5 : 0);
        }
      const A = pool.take(stride * stride * 8);
      const room = pool.take(16 * stride * 8);
      const inverse = [
        ["reversedGram", gram, pool.put(order), size, stride, 0.5, A],
        ["cholesky", A, size, stride],
      ] as const;
      expect(await pool.run([inverse])).toEqual([1]);
      expect(cholesky(a, size)).toBe(true);
      expect(upper(pool.doubles(A, stride * stride), stride)).toEqual(upper(a, size));
      const factor = pool.take(size * size * 4);
      await pool.run([
        [
          ["invertUpper", A, size, stride, room],
          ["takeFactor", A, size, stride, factor],
        ],
      ]);
      invertUpper(a, size);
      expect(upper(pool.doubles(A, stride * stride), stride)).toEqual(upper(a, size));
      const columns = pool.floats(factor, size * size);
      for (let j = 0; j < size; j++)
        for (let i = 0; i <= j; i++)
          expect(columns[j * size + i]).toBe(Math.fround(a[(size - 1 - j) * size + size - 1 - i]!));
      await pool.dispose();
    },
  );

  it("say that a matrix is not positive", async () => {
    const A = pool.take(stride * stride * 8);
    pool.doubles(A, stride * stride).set(padded(new Float64Array(size * size).fill(1), size));
    expect(await pool.run([[["cholesky", A, size, stride]]])).toEqual([0]);
  });
});

describe("Q4_K", () => {
  const inputs = 512;
  const each = grid("offset", 32, { zero: 0, scaleType: "f32", superSize: 256 });

  it("holds what is made for it, and comes near the weights", async () => {
    const weights = randomWeights(9, N, inputs);
    const matrix = await searchMatrix(pool, rowsOf(weights, inputs), each, pool.put(new Float32Array(inputs).fill(1)));
    const read = new Float32Array(weights.length);
    decodeToFloat(typeNamed("Q4_K"), encodeBlocks("Q4_K", matrix, "w"), read);
    expect(read).toEqual(weightsOf(matrix));
    const one = await searchMatrix(
      pool,
      rowsOf(weights, inputs),
      grid("offset", 32, { zero: 0, scaleType: "f32" }),
      pool.put(new Float32Array(inputs).fill(1)),
    );
    const error = (values: Float32Array): number => values.reduce((sum, w, i) => sum + (w - weights[i]!) ** 2, 0);
    expect(error(read)).toBeLessThan(SIX_BITS * error(weightsOf(one)));
  });
});

/** Scales of 6 bits in place of f32 cost a little, and minima above 0 are not to be had. */
const SIX_BITS = 1.25;
