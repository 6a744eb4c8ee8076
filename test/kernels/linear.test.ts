import { beforeAll, describe, expect, it } from "vitest";
import { floatOutput, quantizedOutput } from "../../src/executors/reference/linear.ts";
import { quantizeRow } from "../../src/executors/reference/row-ops.ts";
import { ACTIVATION_MAX, type ActivationMode } from "../../src/plan/plan.ts";
import { packRows } from "../../src/weights/pack.ts";
import { packedLayout } from "../../src/weights/packed-layout.ts";
import type { Matrix, QuantizedMatrix } from "../../src/weights/quantized-matrix.ts";
import { MATRIX_KINDS, Random, randomMatrix } from "../random-plan.ts";
import { compileKernels, type KernelBuild, Kernels } from "./wasm-kernels.ts";

const MODES: readonly ActivationMode[] = ["a8", "a16", "a8-per-token"];
const ROWS = [1, 2, 3, 4, 5, 7, 8, 9, 16, 33];
/** One block and one output of a second. */
const N = 17;

/** Kinds beyond those of random plans: groups of odd sixteens, zero points beside offsets and code books. */
function moreKinds(random: Random, kind: string, outputs: number, K: number): Matrix {
  const g48 = (base: string, groupSize = 48): QuantizedMatrix => {
    const matrix = randomMatrix(random, base, outputs, K) as QuantizedMatrix;
    const groups = Math.ceil(K / groupSize);
    const values = Float32Array.from({ length: outputs * groups }, () => random.float() * 0.02);
    return { ...matrix, groupSize, scale: { kind: "f32", values } };
  };
  const zeros = (groupSize: number): Uint8Array =>
    Uint8Array.from({ length: outputs * Math.ceil(K / groupSize) }, () => random.below(256));
  switch (kind) {
    case "4-bit g48":
      return g48("q4_0");
    case "8-bit g48, zeros":
      return { ...g48("q8_0"), zero: zeros(48) };
    case "6-bit g112":
      return { ...g48("per_channel", 112), bits: 6, codes: randomCodes(random, outputs * K, 64), zero: 32 };
    case "code book g80, zeros":
      return { ...g48("iq4_nl", 80), zero: zeros(80) };
    case "5-bit per channel":
      return { ...g48("per_channel", K), bits: 5, codes: randomCodes(random, outputs * K, 32), zero: 16 };
    case "zeros and offsets g64": {
      const values = Float32Array.from({ length: outputs * Math.ceil(K / 64) }, () => random.float());
      return { ...g48("q4_0", 64), zero: zeros(64), offset: { kind: "f32", values } };
    }
    default:
      return randomMatrix(random, kind, outputs, K);
  }
}

const MORE_KINDS = [
  "4-bit g48",
  "8-bit g48, zeros",
  "6-bit g112",
  "code book g80, zeros",
  "5-bit per channel",
  "zeros and offsets g64",
];

function randomCodes(random: Random, length: number, range: number): Uint8Array {
  return Uint8Array.from({ length }, () => random.below(range));
}

function randomRows(random: Random, count: number, width: number): Float32Array[] {
  return Array.from({ length: count }, () =>
    Float32Array.from({ length: width }, () => random.float() * 2 ** (random.below(12) - 6)),
  );
}

/** The law: src/executors/reference. */
function reference(
  matrix: Matrix,
  x: Float32Array[],
  mode: ActivationMode,
  group: number,
  run: number,
): Float32Array[] {
  const out = x.map(() => new Float32Array(matrix.N));
  const y = new Float32Array(x.length);
  const { K } = matrix;
  const codes = x.map(() => new Int16Array(K));
  const scales = x.map(() => new Float32Array(group && Math.ceil(K / group)));
  if (matrix.kind === "quantized")
    x.forEach((row, m) => {
      quantizeRow(row, group, run, mode, codes[m]!, scales[m]!, new Int32Array(Math.ceil(K / run)));
    });
  for (let n = 0; n < matrix.N; n++) {
    if (matrix.kind === "float") floatOutput(matrix, n, x, y);
    else quantizedOutput(matrix, n, { codes, scales, group }, run, y);
    for (let m = 0; m < x.length; m++) out[m]![n] = y[m]!;
  }
  return out;
}

/** As src/plan/lower.ts chooses them. */
function groupAndRun(layout: ReturnType<typeof packedLayout>, mode: ActivationMode): { group: number; run: number } {
  if (layout.kind === "float") return { group: 0, run: 0 };
  const group = mode === "a8-per-token" ? layout.K : Math.min(layout.activationGroup, layout.K);
  return { group, run: Math.min(layout.groupSize, group) };
}

const bits = (rows: readonly Float32Array[]): Uint32Array[] =>
  rows.map((row) => new Uint32Array(row.buffer, row.byteOffset, row.length));

describe.each<KernelBuild>(["plain", "relaxed"])("linear kernels, %s SIMD", (build) => {
  let module: WebAssembly.Module;
  beforeAll(async () => {
    module = await compileKernels(build);
  }, 300_000);

  function check(matrix: Matrix, mode: ActivationMode, rows: readonly number[], random: Random): void {
    const { K } = matrix;
    const layout = packedLayout(matrix, matrix.N, "test");
    const { group, run } = groupAndRun(layout, mode);
    const x = randomRows(random, Math.max(...rows), K);
    const bias = randomRows(random, 1, matrix.N)[0]!;
    const residual = randomRows(random, x.length, matrix.N);
    const plain = reference(matrix, x, mode, group, run);
    const full = plain.map((row, m) => row.map((y, n) => residual[m]![n]! + Math.fround(y + bias[n]!)));

    const kernels = new Kernels(module, mode);
    const { record, address } = kernels.matrix(layout);
    packRows(layout, matrix, 0, kernels.bytes(address, layout.byteLength));
    const biasAt = kernels.allocate(matrix.N * 4);
    kernels.f32(biasAt, matrix.N).set(bias);
    const placed = kernels.rows(x, K);
    // Stored sums may be finer than this matrix's runs, for another that shares the input.
    const inputRun = run % 32 === 0 && random.below(2) ? 16 : run;
    const input = layout.kind === "float" ? placed : kernels.quantize(placed, { K, group, run: inputRun }, mode);
    for (const count of rows) {
      const some = { ...input, rows: count };
      const out = kernels.rows(residual.slice(0, count), matrix.N);
      const read = (): Float32Array[] =>
        residual.slice(0, count).map((_, m) => kernels.f32(out.address + m * out.stride, matrix.N).slice());
      kernels.linear(some, layout, record, out, { run, bias: biasAt, residual: out });
      expect(bits(read())).toEqual(bits(full.slice(0, count)));
      for (let b = layout.blocks; b-- > 0; ) kernels.linear(some, layout, record, out, { run, first: b, last: b + 1 });
      expect(bits(read())).toEqual(bits(plain.slice(0, count)));
    }
  }

  describe.each(MODES)("%s", (mode) => {
    it.each([...MATRIX_KINDS, ...MORE_KINDS])("%s gives the reference's bits", (kind) => {
      const random = new Random(1 + MATRIX_KINDS.indexOf(kind));
      check(moreKinds(random, kind, N, 512), mode, ROWS, random);
    });

    it.each(["q4_0", "q5_1", "q8_0", "iq4_nl", "zeros_g64", "symmetric_g128", "per_channel", "per_channel_8", "f16"])(
      "%s gives the reference's bits for K that is no multiple of 32, and above a chunk",
      (kind) => {
        const random = new Random(7);
        check(randomMatrix(random, kind, N, 20), mode, [1, 3], random);
        check(randomMatrix(random, kind, N, 100), mode, [1, 4], random);
        check(randomMatrix(random, kind, 33, 1040), mode, [1, 2, 4], random);
      },
    );
  });

  it.each([1, 4])("keeps infinite, subnormal and missing numbers of f16 scales and weights, %i rows", (rows) => {
    const special = [0x7c00, 0xfc00, 0x7e00, 0x0001, 0x83ff, 0x0400, 0x7bff, 0x8000];
    for (const kind of ["q4_0", "q4_1", "q6_k", "f16"]) {
      const random = new Random(13);
      const matrix = randomMatrix(random, kind, 16, 512);
      const halves = (values: Uint16Array): void => {
        for (let n = 0; n < 8; n++) values[Math.floor((n * values.length) / 16)] = special[n]!;
      };
      if (matrix.kind === "float") halves(matrix.values as Uint16Array);
      else if ("superValues" in matrix.scale) halves(matrix.scale.superValues);
      else halves(matrix.scale.values as Uint16Array);
      const layout = packedLayout(matrix, 16, "test");
      const { group, run } = groupAndRun(layout, "a8");
      const x = randomRows(random, rows, 512);
      const kernels = new Kernels(module, "a8");
      const { record, address } = kernels.matrix(layout);
      packRows(layout, matrix, 0, kernels.bytes(address, layout.byteLength));
      const placed = kernels.rows(x, 512);
      const input = run ? kernels.quantize(placed, { K: 512, group, run }, "a8") : placed;
      const out = kernels.rows(x, 512);
      kernels.linear(input, layout, record, out, { run });
      // NaN has no bits of its own here: toEqual takes any for any.
      reference(matrix, x, "a8", group, run).forEach((row, m) => {
        expect(kernels.f32(out.address + m * out.stride, 16)).toEqual(row);
      });
    }
  });

  it("gives the same bits for more rows than share an unpacking", () => {
    const random = new Random(3);
    check(randomMatrix(random, "q4_1", 5, 64), "a8", [131], random);
  });

  it.each(MODES)("quantises as the reference does, %s", (mode) => {
    const random = new Random(11);
    for (const K of [1, 15, 16, 33, 100, 256]) {
      const [ordinary, tiny, nan, infinite] = randomRows(random, 4, K) as [Float32Array, ...Float32Array[]];
      tiny!.fill(1e-31);
      nan![random.below(K)] = Number.NaN;
      infinite![random.below(K)] = Number.NEGATIVE_INFINITY;
      const x = [ordinary, tiny!, nan!, infinite!];
      const group = mode === "a8-per-token" ? K : 32;
      const run = mode === "a8-per-token" ? K : 16;
      const kernels = new Kernels(module, mode);
      const placed = kernels.quantize(
        kernels.rows(x, K),
        { K, group: Math.min(group, K), run: Math.min(run, K) },
        mode,
      );
      x.forEach((row, m) => {
        const codes = new Int16Array(K);
        const scales = new Float32Array(Math.ceil(K / group));
        const sums = new Int32Array(Math.ceil(K / run));
        quantizeRow(row, group, run, mode, codes, scales, sums);
        const at = placed.address + m * placed.stride;
        expect(kernels.f32(at + placed.scaleAt, scales.length)).toEqual(scales);
        expect(kernels.i32(at + placed.sumAt, sums.length)).toEqual(sums);
        const inBytes = build === "relaxed" && ACTIVATION_MAX[mode] === 127;
        const order = [0, 2, 1, 3];
        const stored = inBytes
          ? new Int8Array(kernels.bytes(at, placed.paddedK).slice().buffer)
          : new Int16Array(kernels.bytes(at, placed.paddedK * 2).slice().buffer);
        const expected = Array.from(stored, (_, i) => codes[inBytes ? i : (i & ~3) + order[i & 3]!] ?? 0);
        expect([...stored]).toEqual(expected);
      });
    }
  });
});
