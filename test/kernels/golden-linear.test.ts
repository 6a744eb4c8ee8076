import { describe, expect, it } from "vitest";
import { bf16ToF32, f32ToBf16 } from "../../src/arithmetic/half.ts";
import { relativeError } from "../../src/evaluate/layer-states.ts";
import { quantizeRow } from "../../src/executors/reference/row-ops.ts";
import { fourBit, type GoldenCase, goldenCases, groupValues, nibbles, product, transposed } from "./golden-linear.ts";

// What real kernels gave, against the reference executor: the other executors have its bits.

/** Their result is rounded to bf16: at most 2⁻⁹ of a value, some 1.7e-3 in the norm with rows whose magnitudes are even. */
const BF16_RESULT = 2e-3;
/** Their weights are rounded to bf16 as well, each by itself: √2 of the above. */
const BF16_WEIGHTS = 3e-3;
/** Rows of 16-bit codes, against a product in f64: codes are off by 2⁻¹⁶ of the largest of their group, and these rows have outliers of 100. */
const SIXTEEN_BITS = 1e-4;
/** Their rows become 8-bit codes with a zero point, a row under one scale: 0.7 to 1.2 % off, as one row has an outlier. */
const EIGHT_BIT_ROWS = 0.015;

const bf16 = (x: number): number => bf16ToF32(f32ToBf16(x));

/** Of a result that is exact but for f32 sums in another order, so many values may fall to the other side of a bf16 rounding. */
const OTHER_SIDE = 0.005;

/** Ours, rounded to bf16, are theirs, but for a few that are neighbours. */
function expectNearlyEqual(ours: Float32Array, theirs: Float32Array): void {
  let different = 0;
  for (const [i, value] of theirs.entries()) {
    if (bf16(ours[i]!) === value) continue;
    different++;
    expect(Math.abs(f32ToBf16(ours[i]!) - f32ToBf16(value))).toBe(1);
  }
  expect(different / theirs.length).toBeLessThanOrEqual(OTHER_SIDE);
}

describe("zentorch's DA8W4, per-token 8-bit rows by 4-bit weights", async () => {
  const cases = await goldenCases("zentorch_da8w4");
  const matrixOf = (one: GoldenCase, type: string) => {
    const [N, K] = one.shape("codes") as [number, number];
    const scale = groupValues(transposed(one.raw(`${type}/scales`) as Uint16Array | Float32Array, N));
    return fourBit(
      N,
      K,
      Uint8Array.from(one.raw("codes"), (code) => code + 8),
      { scale },
    );
  };

  /** Rows of which all codes are theirs. They divide by amax / 127, ours multiply by 127 / amax: another code is a tie between two. */
  const equalRows = (one: GoldenCase): boolean[] => {
    const [M, K] = one.shape("x") as [number, number];
    const [x, theirs, scales] = [one.floats("x"), one.raw("x_q_s8"), one.floats("x_scale_f32")];
    const [codes, scale, sums] = [new Int16Array(K), new Float32Array(1), new Int32Array(1)];
    return Array.from({ length: M }, (_, m) => {
      const row = x.subarray(m * K, (m + 1) * K);
      quantizeRow(row, K, K, "a8-per-token", codes, scale, sums);
      expect(scale[0]).toBe(scales[m]);
      const other = [...codes.keys()].filter((k) => codes[k] !== theirs[m * K + k]);
      for (const k of other) {
        expect(Math.abs(codes[k]! - theirs[m * K + k]!)).toBe(1);
        expect(Math.abs(row[k]! / scale[0]!) % 1).toBeCloseTo(0.5, 4);
      }
      return other.length === 0;
    });
  };

  it.each(cases.map((one) => [one.name, one] as const))(
    "%s: codes and scales of rows are equal but for ties, products but for the order of sums",
    async (_, one) => {
      const x = one.floats("x");
      const equal = equalRows(one);
      expect(equal.filter((same) => same).length).toBeGreaterThanOrEqual(14);
      const rowsOf = (values: Float32Array): Float32Array =>
        values.filter((_, i) => equal[Math.floor(i / (values.length / equal.length))]);
      const f32 = matrixOf(one, "f32_scales");
      for (const [y, bias] of [
        ["y", undefined],
        ["y_bias", one.floats("bias")],
      ] as const) {
        const ours = await product(x, f32, "a8-per-token", bias);
        expectNearlyEqual(rowsOf(ours), rowsOf(one.floats(`f32_scales/${y}`)));
      }
      // With bf16 scales theirs rounds each row's own scale to bf16 too: a gain of up to 2⁻⁸ on the whole row.
      const ours = await product(x, matrixOf(one, "bf16_scales"), "a8-per-token");
      const gained = ours.map((value, i) => {
        const scale = one.floats("x_scale_f32")[Math.floor(i / f32.N)]!;
        return scale === 0 ? 0 : value * (bf16(scale) / scale);
      });
      expectNearlyEqual(rowsOf(gained), rowsOf(one.floats("bf16_scales/y")));
    },
  );
});

describe("16-bit rows by 4-bit weights", async () => {
  it.each((await goldenCases("zentorch_woq")).filter((one) => one.has("x")).map((one) => [one.name, one] as const))(
    "zentorch's weight-only linear, %s",
    async (_, one) => {
      const [N, K] = one.shape("codes") as [number, number];
      const zeros = one.has("zero_points") && Uint8Array.from(transposed(one.raw("zero_points") as Int8Array, N));
      const codes = Uint8Array.from(one.raw("codes"), (code) => (zeros ? code : code + 8));
      const scale = groupValues(transposed(one.raw("scales") as Uint16Array, N));
      const matrix = fourBit(N, K, codes, { scale, ...(zeros && { zero: zeros }) });
      const x = one.floats("x");
      expect(relativeError(await product(x, matrix, "a16"), one.floats("y"))).toBeLessThan(BF16_WEIGHTS);
      const biased = await product(x, matrix, "a16", one.floats("bias"));
      expect(relativeError(biased, one.floats("y_bias"))).toBeLessThan(BF16_WEIGHTS);
    },
  );

  const packed = new Map((await goldenCases("cpu_int4_pack")).map((one) => [one.name, one]));
  it.each((await goldenCases("tinygemm_mm")).map((one) => [one.name, one] as const))(
    "torch's tinygemm, %s",
    async (_, one) => {
      const [N, K] = [one.shape("y_m17")[1]!, one.shape("x")[1]!];
      const weights = packed.get(one.name)!;
      const [scale, offset] = ["weight_scale", "weight_zero"].map((name) => weights.raw(name) as Uint16Array);
      const values = { scale: groupValues(scale!), offset: groupValues(offset!) };
      const ours = await product(one.floats("x"), fourBit(N, K, nibbles(weights.raw("weight_packed")), values), "a16");
      expect(relativeError(ours, one.floats("y_ref_m17"))).toBeLessThan(SIXTEEN_BITS);
      expect(relativeError(ours, one.floats("y_m17"))).toBeLessThan(BF16_RESULT);
    },
  );
});

describe("vLLM's own kernels for CPUs", async () => {
  it.each((await goldenCases("vllm_cpu_kernels")).map((one) => [one.name, one] as const))("%s", async (_, one) => {
    const [N, K] = one.shape("codes") as [number, number];
    const scale = groupValues(transposed(one.raw("scales") as Uint16Array, N));
    const matrix = fourBit(N, K, one.raw("codes") as Uint8Array, { scale, zero: one.raw("zero_points") as Uint8Array });
    const x = one.floats("x");
    // cpu_gemm_wna16, W4A16.
    expect(relativeError(await product(x, matrix, "a16"), one.floats("wna16_y"))).toBeLessThan(BF16_WEIGHTS);
    // int4_scaled_mm_cpu, W4A8: rows of 8-bit codes under a scale of their own, as ours are.
    expect(relativeError(await product(x, matrix, "a8-per-token"), one.floats("w4a8_y"))).toBeLessThan(BF16_RESULT);
  });
});

describe("torch's dynamically quantised 4-bit linear", async () => {
  it.each((await goldenCases("torch_dyn_quant_4bit")).map((one) => [one.name, one] as const))("%s", async (_, one) => {
    const [N, K] = [one.shape("y_f32")[1]!, one.shape("x_f32")[1]!];
    const scale = groupValues(one.floats("scales_f32"));
    const matrix = fourBit(N, K, nibbles(one.raw("weight_packed")), { scale });
    const ours = await product(one.floats("x_f32"), matrix, "a16");
    expect(relativeError(ours, one.floats("y_f32"))).toBeLessThan(EIGHT_BIT_ROWS);
  });
});
