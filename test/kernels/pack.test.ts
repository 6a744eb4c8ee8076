import { beforeAll, describe, expect, it } from "vitest";
import { decodeToMatrix } from "../../src/formats/ggml/decode.ts";
import { ggmlTypes } from "../../src/formats/ggml/types.ts";
import { packRows } from "../../src/weights/pack.ts";
import { packedLayout } from "../../src/weights/packed-layout.ts";
import { matrixRowToFloat } from "../../src/weights/unpack.ts";
import { MATRIX_KINDS, Random, randomMatrix } from "../random-plan.ts";
import { compileKernels, Kernels } from "./wasm-kernels.ts";

/** Types with a packing kernel; others are packed in TypeScript. */
const PACKED = [
  "F32",
  "F16",
  "BF16",
  "Q4_0",
  "Q4_1",
  "Q5_0",
  "Q5_1",
  "Q8_0",
  "Q4_K",
  "Q5_K",
  "Q6_K",
  "IQ4_NL",
  "MXFP4",
];

const words = (row: Float32Array): Uint32Array => new Uint32Array(row.buffer, row.byteOffset, row.length);

describe("packing and embedding kernels", () => {
  let module: WebAssembly.Module;
  beforeAll(async () => {
    module = await compileKernels("plain");
  }, 300_000);

  it.each(ggmlTypes().filter(({ name }) => PACKED.includes(name)))(
    "packs $name to the bytes that weights/pack.ts gives",
    (type) => {
      const random = new Random(5);
      for (const [N, K] of [
        [1, 256],
        [16, 512],
        [35, 256],
        [30, 768],
        ...(type.blockSize === 1 ? [[18, 21] as const] : []),
      ] as const) {
        const bytes = Uint8Array.from({ length: (N * K * type.blockBytes) / type.blockSize }, () => random.below(256));
        // A signalling NaN would come out of a Float32Array changed.
        if (type.name === "F32") for (let i = 3; i < bytes.length; i += 4) bytes[i] = bytes[i]! & 0xbf;
        const matrix = decodeToMatrix(type, bytes, N, K);
        const layout = packedLayout(matrix, N, "test");
        const expected = new Uint8Array(layout.byteLength);
        packRows(layout, matrix, 0, expected);

        const kernels = new Kernels(module, "a8");
        const { record, address } = kernels.matrix(layout);
        const source = kernels.allocate(bytes.length + 1) + 1;
        kernels.bytes(source, bytes.length).set(bytes);
        const first = Math.min(N, 16);
        const rest = source + (first * bytes.length) / N;
        expect(kernels.exports.packRows(type.id, source, first, record, 0)).toBe(1);
        if (N > first) expect(kernels.exports.packRows(type.id, rest, N - first, record, 1)).toBe(1);
        expect(Buffer.compare(kernels.bytes(address, layout.byteLength), expected)).toBe(0);
      }
    },
  );

  it("says so where a type has no kernel", () => {
    const random = new Random(1);
    const layout = packedLayout(randomMatrix(random, "q2_k", 16, 256), 16, "test");
    const kernels = new Kernels(module, "a8");
    const { record, address } = kernels.matrix(layout);
    for (const { id } of ggmlTypes().filter(({ name }) => !PACKED.includes(name)))
      expect(kernels.exports.packRows(id, 0, 16, record, 0)).toBe(0);
    expect(kernels.bytes(address, layout.byteLength).every((byte) => byte === 0)).toBe(true);
  });

  it.each(MATRIX_KINDS)("reads a row of %s as weights/unpack.ts does", (kind) => {
    const random = new Random(9);
    const K = kind.includes("_k") || kind === "iq4_xs" ? 512 : 100;
    const matrix = randomMatrix(random, kind, 37, K);
    const layout = packedLayout(matrix, 37, "test");
    const kernels = new Kernels(module, "a8");
    const { record, address } = kernels.matrix(layout);
    packRows(layout, matrix, 0, kernels.bytes(address, layout.byteLength));
    const out = kernels.allocate(K * 4);
    const expected = new Float32Array(K);
    for (const n of [0, 15, 16, 36])
      for (const multiplier of [1, 3.5]) {
        kernels.exports.embedRow(record, n, multiplier, out);
        matrixRowToFloat(matrix, n, expected);
        if (multiplier !== 1) for (let k = 0; k < K; k++) expected[k] = expected[k]! * multiplier;
        expect(words(kernels.f32(out, K))).toEqual(words(expected));
      }
  });
});
