import { describe, expect, it } from "vitest";
import { Random } from "../../test/random-plan.ts";
import { f16ToF32 } from "../arithmetic/half.ts";
import { packedLayout } from "../weights/packed-layout.ts";
import { matrixRowToFloat } from "../weights/unpack.ts";
import { inEightBits, quantizeToEightBits } from "./eight-bit.ts";

const random = new Random(8);

function decoded(values: Float32Array, N: number, K: number): { out: Float32Array; scales: number[] } {
  const matrix = quantizeToEightBits(values, N, K, "test");
  const out = new Float32Array(N * K);
  for (let n = 0; n < N; n++) matrixRowToFloat(matrix, n, out.subarray(n * K, (n + 1) * K));
  return { out, scales: Array.from((matrix.scale as { values: Uint16Array }).values, f16ToF32) };
}

describe("8-bit groups of float weights", () => {
  it.each([
    [3, 32, 1],
    [5, 96, 0.02],
    [2, 80, 1e-3],
    [2, 64, 1e-6],
    [1, 33, 1e-7],
    [2, 64, 1e6],
    [2, 7, 3],
  ])("moves no weight by more than half a step (N=%i K=%i size %d)", (N, K, size) => {
    const values = Float32Array.from({ length: N * K }, () => random.float() * size);
    const { out, scales } = decoded(values, N, K);
    const groups = Math.ceil(K / 32);
    values.forEach((value, i) => {
      const scale = scales[Math.floor(i / K) * groups + Math.floor((i % K) / 32)]!;
      // The decoded weight is rounded to f32 once more.
      expect(Math.abs(out[i]! - value)).toBeLessThanOrEqual(scale * 0.5 + Math.abs(value) * 2 ** -23);
    });
  });

  it("keeps zeros, and weights that are multiples of an f16 step, exactly", () => {
    expect(decoded(new Float32Array(64), 2, 32).out).toEqual(new Float32Array(64));
    const exact = Float32Array.from({ length: 32 }, (_, i) => (i - 16) * 0.125 + (i === 0 ? -127 * 0.125 + 2 : 0));
    expect(decoded(exact, 1, 32).out).toEqual(exact);
  });

  it("refuses weights that are not finite, or past what an f16 scale reaches", () => {
    const of = (value: number) => () => quantizeToEightBits(Float32Array.of(1, value), 1, 2, "blk.0");
    expect(of(Number.NaN)).toThrow(/blk\.0: a weight is not finite/);
    expect(of(Number.POSITIVE_INFINITY)).toThrow(/not finite/);
    expect(of(1e7)).toThrow(expect.objectContaining({ code: "ERR_UNSUPPORTED", place: "blk.0" }));
  });

  it("has the packed layout of Q8_0, and reads any rows", async () => {
    const values = Float32Array.from({ length: 6 * 64 }, () => random.float());
    const source = inEightBits({
      name: "w",
      N: 6,
      K: 64,
      rowBytes: 256,
      like: { kind: "float", N: 0, K: 64, type: "f32", values: new Float32Array(0) },
      readRows: async (first, count) => ({
        kind: "float",
        N: count,
        K: 64,
        type: "f32",
        values: values.subarray(first * 64, (first + count) * 64),
      }),
    });
    expect(packedLayout(source.like, 6, "w")).toMatchObject({
      bits: 8,
      groupSize: 32,
      scale: "f16",
      zero: 128,
      offset: undefined,
    });
    expect(source.ggml).toBeUndefined();
    const whole = quantizeToEightBits(values, 6, 64, "w");
    expect(await source.readRows(2, 3)).toMatchObject({ codes: whole.codes.slice(128, 320) });
  });
});
