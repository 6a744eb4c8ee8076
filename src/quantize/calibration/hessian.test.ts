import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { weightsOf } from "../../../test/encodings.ts";
import { Random } from "../../../test/random-plan.ts";
import type { QuantizedMatrix } from "../../weights/quantized-matrix.ts";
import { groupValue } from "../../weights/unpack.ts";
import type { Grid } from "../grid.ts";
import { KernelPool } from "../kernels/kernel-pool.ts";
import { type GptqFactor, roundMatrix, searchMatrix } from "../kernels/matrix-kernels.ts";
import { Hessian } from "./hessian.ts";

const N = 24;
const K = 96;
const ROWS = 400;
const DAMPING = 0.01;
const GRID: Grid = { kind: "offset", bits: 4, groupSize: 32, zero: 8, scaleType: "bf16" };

let pool: KernelPool;
beforeAll(async () => {
  pool = await KernelPool.create(2);
});
afterAll(() => pool.dispose());

const random = new Random(11);
const weights = Float32Array.from({ length: N * K }, () => random.float() + random.float() + random.float());

/** Inputs that go together, some much larger than others. */
function correlated(change: (row: Float32Array) => void = () => {}): Float32Array {
  const mix = Float32Array.from({ length: 12 * K }, () => random.float());
  const x = new Float32Array(ROWS * K);
  for (let r = 0; r < ROWS; r++) {
    const row = x.subarray(r * K, (r + 1) * K);
    const hidden = Array.from({ length: 12 }, () => random.float());
    for (let k = 0; k < K; k++)
      row[k] = (1 + (k % 7)) * (hidden.reduce((sum, h, i) => sum + h * mix[i * K + k]!, 0) + 0.2 * random.float());
    change(row);
  }
  return x;
}

interface Outcome {
  readonly rtn: QuantizedMatrix;
  readonly search: QuantizedMatrix;
  readonly gptq: QuantizedMatrix;
  readonly factor: GptqFactor | undefined;
}

async function quantized(x: Float32Array, actOrder = true): Promise<Outcome> {
  const hessian = new Hessian(pool, K);
  for (let row = 0; row < ROWS; row += 100) await hessian.add(x.subarray(row * K, (row + 100) * K));
  expect(hessian.rows).toBe(ROWS);
  const factor = await hessian.factor(DAMPING, actOrder);
  const importance = pool.put(hessian.importance());
  const rows = { at: pool.put(weights), N, K };
  return {
    rtn: await roundMatrix(pool, rows, GRID),
    search: await searchMatrix(pool, rows, GRID, importance),
    gptq: await searchMatrix(pool, rows, GRID, importance, factor),
    factor,
  };
}

/** Σ |ΔW · x|² over the inputs, f64. */
function outputError(matrix: QuantizedMatrix, x: Float32Array): number {
  const got = weightsOf(matrix);
  let error = 0;
  for (let r = 0; r < ROWS; r++)
    for (let n = 0; n < N; n++) {
      let sum = 0;
      for (let k = 0; k < K; k++) sum += (got[n * K + k]! - weights[n * K + k]!) * x[r * K + k]!;
      error += sum * sum;
    }
  return error;
}

/**
 * GPTQ as its paper first states it, in f64: round an input, spread the error by the inverse Hessian of the inputs that are
 * left, then take the input out of that inverse.
 */
function textbook(x: Float32Array, { scale, offset, ...matrix }: QuantizedMatrix, order: number[]): Uint8Array {
  let H = order.map((i) => order.map((j) => sumOver(x, i, j)));
  const mean = H.reduce((sum, row, i) => sum + row[i]!, 0) / K;
  H = H.map((row, i) => row.map((value, j) => value + (i === j ? DAMPING * mean : 0)));
  const left = inverted(H);
  const codes = new Uint8Array(N * K);
  const w = Array.from({ length: N }, (_, n) => order.map((k) => weights[n * K + k]!));
  for (let p = 0; p < K; p++) {
    for (let n = 0; n < N; n++) {
      const g = Math.floor(order[p]! / GRID.groupSize);
      const [s, o] = [
        groupValue({ scale, offset, ...matrix } as QuantizedMatrix, scale, n, g),
        groupValue(matrix as QuantizedMatrix, offset!, n, g),
      ];
      const code = Math.min(15, Math.max(0, Math.round((w[n]![p]! - o) / s) + 8));
      codes[n * K + order[p]!] = code;
      const error = (w[n]![p]! - (s * (code - 8) + o)) / left[p]![p]!;
      for (let q = p + 1; q < K; q++) w[n]![q]! -= error * left[p]![q]!;
    }
    for (let i = p + 1; i < K; i++)
      for (let j = p + 1; j < K; j++) left[i]![j]! -= (left[i]![p]! * left[p]![j]!) / left[p]![p]!;
  }
  return codes;
}

function sumOver(x: Float32Array, i: number, j: number): number {
  let sum = 0;
  for (let r = 0; r < ROWS; r++) sum += x[r * K + i]! * x[r * K + j]!;
  return sum;
}

/** Gauss and Jordan. */
function inverted(matrix: number[][]): number[][] {
  const a = matrix.map((row, i) => [...row, ...row.map((_, j) => (i === j ? 1 : 0))]);
  for (let p = 0; p < K; p++) {
    const pivot = a[p]![p]!;
    a[p] = a[p]!.map((value) => value / pivot);
    for (let i = 0; i < K; i++) {
      const factor = a[i]![p]!;
      if (i !== p) a[i] = a[i]!.map((value, j) => value - factor * a[p]![j]!);
    }
  }
  return a.map((row) => row.slice(K));
}

/** f32 sums lie on the other side of a rounding now and then, and what follows in that output differs. */
const SAME_CODES = 0.98;

describe("GPTQ", () => {
  it.each([true, false])("gives the textbook's codes, up to f32 (act-order %s)", async (actOrder) => {
    const x = correlated();
    const { gptq, search } = await quantized(x, actOrder);
    const squares = Array.from({ length: K }, (_, k) => sumOver(x, k, k));
    const order = Array.from({ length: K }, (_, k) => k);
    if (actOrder) order.sort((a, b) => squares[b]! - squares[a]!);
    const codes = textbook(x, search, order);
    expect(codes.filter((code, i) => code === gptq.codes[i]).length / codes.length).toBeGreaterThan(SAME_CODES);
  });

  it.each<[string, (row: Float32Array) => void]>([
    ["inputs that go together", () => {}],
    ["inputs that are always 0", (row) => row.fill(0, 10, 30)],
    ["inputs that are the same", (row) => row.copyWithin(40, 0, 40)],
    ["one input alone", (row) => row.fill(0, 1)],
    ["tiny inputs", (row) => row.forEach((value, k) => void (row[k] = value * 1e-12))],
  ])("errs less on its text than rounding does, with %s", async (_, change) => {
    const x = correlated(change);
    const { rtn, search, gptq } = await quantized(x);
    const [nearest, searched, made] = [rtn, search, gptq].map((matrix) => outputError(matrix, x)) as [
      number,
      number,
      number,
    ];
    expect(searched).toBeLessThanOrEqual(nearest * 1.0001);
    expect(made).toBeLessThanOrEqual(searched * 1.0001);
  });

  it("does without where a text gives nothing", async () => {
    const { factor, gptq, search } = await quantized(new Float32Array(ROWS * K));
    expect(factor).toBeUndefined();
    expect(gptq).toEqual(search);
  });

  it("refuses inputs that are not finite", async () => {
    const hessian = new Hessian(pool, K);
    await expect(hessian.add(new Float32Array(K).fill(NaN))).rejects.toMatchObject({ code: "ERR_NON_FINITE" });
  });
});
