import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { packRows } from "./pack.ts";
import { packedLayout } from "./packed-layout.ts";
import type { GroupValues, Matrix } from "./quantized-matrix.ts";
import { matrixRowToFloat, readPackedRow, unpack } from "./unpack.ts";

/** A matrix of random bytes of one kind: what lossless means does not depend on sensible values. */
function randomMatrix(seed: number, N: number, kind: MatrixKind): Matrix {
  let state = seed >>> 0 || 1;
  const next = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
  const { K, bits, groupSize, scale, zero, offset, float } = kind;
  const u16 = (n: number) => Uint16Array.from({ length: n }, () => next() % 0x7c00);
  if (float) {
    const values = float === "f32" ? Float32Array.from({ length: N * K }, next) : u16(N * K);
    return { kind: "float", N, K, type: float, values };
  }
  const groups = Math.ceil(K / groupSize);
  const values = (k: GroupValues["kind"]): GroupValues => {
    if (k === "two-level-u8" || k === "two-level-i8")
      return {
        kind: k,
        codes: Uint8Array.from({ length: N * groups }, () => next() & 255),
        superValues: u16(N * Math.ceil(K / 256)),
        superSize: 256,
      };
    if (k === "f32") return { kind: k, values: Float32Array.from({ length: N * groups }, next) };
    return { kind: k, values: u16(N * groups) };
  };
  return {
    kind: "quantized",
    N,
    K,
    bits,
    groupSize,
    codes: Uint8Array.from({ length: N * K }, () => next() & ((1 << bits) - 1)),
    scale: values(scale),
    zero: zero === "u8" ? Uint8Array.from({ length: N * groups }, () => next() & 255) : zero,
    ...(offset && { offset: values(offset) }),
  };
}

interface MatrixKind {
  K: number;
  bits: 4 | 5 | 6 | 8;
  groupSize: number;
  scale: GroupValues["kind"];
  zero: number | "u8";
  offset?: GroupValues["kind"];
  float?: "f32" | "f16" | "bf16";
}

const base: MatrixKind = { K: 96, bits: 4, groupSize: 32, scale: "f16", zero: 8 };
const kinds: [string, MatrixKind][] = [
  ["Q4_0", base],
  ["Q4_1", { ...base, zero: 0, offset: "f16" }],
  ["Q5_0", { ...base, bits: 5, zero: 16 }],
  ["Q8_0", { ...base, bits: 8, zero: 128 }],
  ["Q4_K", { ...base, K: 512, zero: 0, scale: "two-level-u8", offset: "two-level-u8" }],
  ["Q5_K", { ...base, K: 512, bits: 5, zero: 0, scale: "two-level-u8", offset: "two-level-u8" }],
  ["Q6_K", { ...base, K: 256, bits: 6, groupSize: 16, zero: 32, scale: "two-level-i8" }],
  ["cpu_int4", { ...base, scale: "bf16", offset: "bf16" }],
  ["integer zeros", { ...base, groupSize: 128, K: 256, zero: "u8" }],
  ["one group per output, ragged K", { ...base, K: 36, groupSize: 36, scale: "f32" }],
  ["short last group", { ...base, K: 80, groupSize: 64, scale: "f32", offset: "f32" }],
  ["f32", { ...base, K: 33, float: "f32" }],
  ["bf16", { ...base, K: 33, float: "bf16" }],
];

describe.each(kinds)("packing %s", (_, kind) => {
  it("is lossless, whatever the number of outputs and wherever rows are cut", () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 1, max: 70 }), fc.integer({ min: 1, max: 3 }), (seed, N, step) => {
        const matrix = randomMatrix(seed, N, kind);
        const layout = packedLayout(matrix, N, "test");
        const bytes = new Uint8Array(layout.byteLength);
        for (let row = 0; row < N; row += 16 * step) packRows(layout, slice(matrix, row, 16 * step), row / 16, bytes);
        expect(unpack({ layout, bytes })).toEqual(matrix);
      }),
      { numRuns: 30 },
    );
  });

  it("reads one row from the packed form", () => {
    const matrix = randomMatrix(7, 21, kind);
    const layout = packedLayout(matrix, 21, "test");
    const bytes = new Uint8Array(layout.byteLength);
    packRows(layout, matrix, 0, bytes);
    for (const n of [0, 15, 16, 20]) {
      const [direct, packed] = [new Float32Array(kind.K), new Float32Array(kind.K)];
      matrixRowToFloat(matrix, n, direct);
      readPackedRow({ layout, bytes }, n, packed);
      expect(packed).toEqual(direct);
    }
  });
});

it("refuses group sizes that the layout cannot hold", () => {
  for (const groupSize of [8, 24, 200])
    expect(() => packedLayout(randomMatrix(1, 16, { ...base, K: 600, groupSize }), 16, "w")).toThrow(/group size/);
});

function slice(m: Matrix, first: number, count: number): Matrix {
  const N = Math.min(count, m.N - first);
  if (m.kind === "float") return { ...m, N, values: m.values.slice(first * m.K, (first + N) * m.K) };
  const rows = <T extends Uint8Array | Uint16Array | Float32Array>(a: T): T => {
    const width = a.length / m.N;
    return a.slice(first * width, (first + N) * width) as T;
  };
  const cut = (v: GroupValues): GroupValues =>
    "superValues" in v
      ? { ...v, codes: rows(v.codes), superValues: rows(v.superValues) }
      : ({ ...v, values: rows(v.values) } as GroupValues);
  return {
    ...m,
    N,
    codes: rows(m.codes),
    scale: cut(m.scale),
    zero: typeof m.zero === "number" ? m.zero : rows(m.zero),
    ...(m.offset && { offset: cut(m.offset) }),
  };
}
