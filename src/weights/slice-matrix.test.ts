import { describe, expect, it } from "vitest";
import { MATRIX_KINDS, Random, randomMatrix } from "../../test/random-plan.ts";
import { packedLayout } from "./packed-layout.ts";
import type { Matrix } from "./quantized-matrix.ts";
import { sliceColumns, takeRows } from "./slice-matrix.ts";
import { matrixRowToFloat } from "./unpack.ts";

const N = 5;
const K = 512;

function floats(matrix: Matrix): Float32Array[] {
  return Array.from({ length: matrix.N }, (_, n) => {
    const row = new Float32Array(matrix.K);
    matrixRowToFloat(matrix, n, row);
    return row;
  });
}

describe.each(MATRIX_KINDS)("a matrix of kind %s", (kind) => {
  const matrix = randomMatrix(new Random(3), kind, N, K);
  const all = floats(matrix);

  it.each([
    [0, 512],
    [0, 256],
    [256, 512],
    [128, 384],
    [32, 512],
    [96, 224],
    [480, 512],
  ])("keeps every weight of columns %i to %i, whatever its groups", (first, end) => {
    const part = sliceColumns(matrix, first, end, "m");
    expect(floats(part)).toEqual(all.map((row) => row.slice(first, end)));
    expect(() => packedLayout(part, part.N, "m")).not.toThrow();
  });

  it("keeps rows that are taken, in their order", () => {
    expect(floats(takeRows(matrix, [4, 0, 4]))).toEqual([all[4], all[0], all[4]]);
  });

  it("without rows is cut as one with rows is", () => {
    const { N: none, ...like } = sliceColumns(takeRows(matrix, []), 96, 224, "m");
    const { N: some, ...part } = sliceColumns(matrix, 96, 224, "m");
    expect(none).toBe(0);
    expect(some).toBe(N);
    if (like.kind === "quantized" && part.kind === "quantized") expect(like.groupSize).toBe(part.groupSize);
  });
});

it("refuses cuts that leave groups too small", () => {
  const matrix = randomMatrix(new Random(3), "q4_0", N, K);
  expect(() => sliceColumns(matrix, 24, 64, "blk.0")).toThrow(/blk.0: .*multiple of 16.*groups of 8/);
});
