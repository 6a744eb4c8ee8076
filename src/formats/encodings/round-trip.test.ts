import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type MatrixKind, randomMatrix, weightsOf } from "../../../test/encodings.ts";
import { seededRandom } from "../../../test/mutate.ts";
import type { QuantizedMatrix } from "../../weights/quantized-matrix.ts";
import { decodeToMatrix } from "../ggml/decode.ts";
import { encodeBlocks, type WritableBlocks } from "../ggml/encode.ts";
import { ggmlTypes } from "../ggml/types.ts";
import { awqForm, decodeAwq, encodeAwq } from "./awq.ts";
import {
  compressedForm,
  decodeCompressed,
  decodeIntQuantized,
  encodeCompressed,
  encodeIntQuantized,
  intQuantizedForm,
  readWeightShape,
} from "./compressed-tensors.ts";
import { cpuInt4Form, decodeCpuInt4, encodeCpuInt4 } from "./cpu-int4.ts";
import type { OrderedMatrix } from "./form.ts";
import { decodeGptq, encodeGptq, type GptqVersion, gptqForm } from "./gptq.ts";
import { newTensor, type Tensor } from "./tensors.ts";
import { decodeTinygemm, encodeTinygemm, type TinygemmLayout, tinygemmForm } from "./tinygemm.ts";

type Tensors = Readonly<Record<string, Tensor>>;

interface Codec {
  encode(ordered: OrderedMatrix): Tensors;
  decode(tensors: Tensors): OrderedMatrix;
}

const gptq = (version: GptqVersion): Codec => ({
  encode: (ordered) => encodeGptq(ordered, version),
  decode: (t) => decodeGptq(t, { ...gptqForm(t, {}, "w"), version }),
});
const tinygemm = (layout: TinygemmLayout): Codec => ({
  encode: ({ matrix }) => encodeTinygemm(matrix, layout),
  decode: (t) => ({ matrix: decodeTinygemm(t, tinygemmForm(t, {}, "w"), layout) }),
});
const blocks = (name: WritableBlocks): Codec => {
  const type = ggmlTypes().find((each) => each.name === name)!;
  return {
    encode({ matrix }) {
      const bytes = encodeBlocks(name, matrix, "w");
      return { blocks: newTensor("U8", [matrix.N, bytes.length / matrix.N], bytes) };
    },
    decode({ blocks: tensor }) {
      const [N, rowBytes] = tensor!.shape as [number, number];
      const K = (rowBytes / type.blockBytes) * type.blockSize;
      return { matrix: decodeToMatrix(type, tensor!.bytes, N, K) as QuantizedMatrix };
    },
  };
};
const codecs: Record<string, Codec> = {
  cpu_int4: {
    encode: ({ matrix }) => encodeCpuInt4(matrix),
    decode: (t) => ({ matrix: decodeCpuInt4(t, cpuInt4Form(t, {}, "w")) }),
  },
  "gptq v1": gptq("v1"),
  "gptq v2": gptq("v2"),
  awq: {
    encode: ({ matrix }) => encodeAwq(matrix),
    decode: (t) => ({ matrix: decodeAwq(t, awqForm(t, {}, "w")) }),
  },
  "pack-quantized": {
    encode: encodeCompressed,
    decode: (t) => decodeCompressed(t, compressedForm(t, readWeightShape(t.weight_shape!, "w"), {}, "w")),
  },
  "int-quantized": {
    encode: ({ matrix }) => encodeIntQuantized(matrix),
    decode: (t) => ({ matrix: decodeIntQuantized(t, intQuantizedForm(t, {}, "w")) }),
  },
  "tinygemm avx512": tinygemm("avx512"),
  "tinygemm avx2": tinygemm("avx2"),
  "tinygemm default": tinygemm("default"),
  Q4_0: blocks("Q4_0"),
  Q4_1: blocks("Q4_1"),
  Q8_0: blocks("Q8_0"),
  Q4_K: blocks("Q4_K"),
};

/** Of 16 · rows outputs and 32 · groups inputs; a ragged one of that many rows and few inputs more than groups. */
function random(seed: number, rows: number, groups: number, kind: Kind): OrderedMatrix {
  if (kind.ragged) return randomMatrix(seed, rows, groups + 3, groups + 3, kind);
  return randomMatrix(seed, rows * 16, groups * 32, 32, kind);
}

interface Kind extends MatrixKind {
  readonly ragged?: boolean;
}

const ALL_4_BIT = [
  "cpu_int4",
  ...["gptq v1", "gptq v2", "awq", "pack-quantized"],
  ...["tinygemm avx512", "tinygemm avx2", "tinygemm default"],
];
const WITH_ZEROS = ["gptq v1", "gptq v2", "awq", "pack-quantized"];
const EIGHT_BIT = ["gptq v1", "gptq v2", "pack-quantized", "int-quantized"];
const WITH_ORDER = ["gptq v1", "gptq v2", "pack-quantized"];
/** Of 4-bit codes Q8_0 makes 8-bit ones, which no 4-bit encoding takes back. */
const UNASKED = ["Q8_0"];
const WITH_OFFSETS = ALL_4_BIT.filter((name) => !WITH_ZEROS.includes(name));

/** Which encodings hold which matrices: the others must refuse. */
const kinds: [title: string, kind: Kind, holders: string[]][] = [
  ["4 bits, scales of 4 bits", { bits: 4, scale: "bf16", scaleBits: 4, zeros: "any" }, [...ALL_4_BIT, "Q4_1"]],
  [
    "4 bits, symmetric, bf16",
    { bits: 4, scale: "bf16", scaleBits: 8, zeros: "middle" },
    [...ALL_4_BIT, "Q4_0", "Q4_1"],
  ],
  [
    "4 bits, symmetric, f16",
    { bits: 4, scale: "f16", scaleBits: 11, zeros: "middle" },
    [...WITH_ZEROS, "Q4_0", "Q4_1"],
  ],
  ["4 bits, bf16", { bits: 4, scale: "bf16", scaleBits: 8, zeros: "any" }, WITH_ZEROS],
  ["4 bits, f16", { bits: 4, scale: "f16", scaleBits: 11, zeros: "any" }, WITH_ZEROS],
  ["4 bits, f32 scales that f16 holds", { bits: 4, scale: "f32", scaleBits: 11, zeros: "any" }, WITH_ZEROS],
  ["4 bits, real offsets", { bits: 4, scale: "bf16", scaleBits: 8, zeros: "middle", offsets: true }, WITH_OFFSETS],
  ["4 bits, f32", { bits: 4, scale: "f32", scaleBits: 24, zeros: "any" }, ["pack-quantized"]],
  ["4 bits, act-order", { bits: 4, scale: "f16", scaleBits: 11, zeros: "any", order: true }, WITH_ORDER],
  ["4 bits, ragged", { bits: 4, scale: "bf16", scaleBits: 8, zeros: "any", ragged: true }, ["pack-quantized"]],
  ["8 bits", { bits: 8, scale: "f16", scaleBits: 11, zeros: "any" }, EIGHT_BIT],
  ["8 bits, symmetric", { bits: 8, scale: "bf16", scaleBits: 8, zeros: "middle" }, [...EIGHT_BIT, "Q8_0"]],
  ["8 bits, act-order", { bits: 8, scale: "f16", scaleBits: 11, zeros: "middle", order: true }, WITH_ORDER],
  ["6 bits", { bits: 6, scale: "f16", scaleBits: 11, zeros: "any" }, EIGHT_BIT],
  ["5 bits", { bits: 5, scale: "f16", scaleBits: 11, zeros: "middle" }, [...EIGHT_BIT, "Q8_0"]],
];

describe.each(kinds)("random matrices of %s", (_, kind, holders) => {
  const matrices = fc.tuple(fc.integer(), fc.integer({ min: 1, max: 6 }), fc.integer({ min: 2, max: 4 }));

  it("keep every weight through every pair of encodings that hold them", () => {
    fc.assert(
      fc.property(matrices, ([seed, rows, groups]) => {
        const source = random(seed, rows, groups, kind);
        const weights = weightsOf(source.matrix, source.inputOrder);
        for (const from of holders) {
          const first = codecs[from]!.encode(source);
          const read = codecs[from]!.decode(first);
          for (const to of holders) {
            const there = codecs[to]!.decode(codecs[to]!.encode(read));
            expect(sameNumbers(weightsOf(there.matrix, there.inputOrder), weights), `${from} to ${to}`).toBe(true);
            expect(there.inputOrder).toEqual(source.inputOrder);
            // Where f16 holds scales that stood in f32, they come back in f16, and from ggml's blocks always.
            if (kind.scale !== "f32" && (kind.scale === "f16" || !to.startsWith("Q")))
              expectSameTensors(codecs[from]!.encode(there), first, `${from} to ${to} and back`);
          }
        }
      }),
      { numRuns: 15 },
    );
  });

  // Encodings without an order of inputs take no ordered matrix at all: a matter of types.
  if (kind.order) return;
  const unasked = kind.bits < 8 ? UNASKED : [];
  const others = Object.keys(codecs).filter((name) => !holders.includes(name) && !unasked.includes(name));
  // Sizes that fit none by chance.
  const [rows, groups] = kind.ragged ? [5, 4] : [3, 3];
  it("are refused by the others", () => {
    for (const name of others) {
      expect(() => codecs[name]!.encode(random(7, rows, groups, kind)), name).toThrow(
        expect.objectContaining({ code: "ERR_UNSUPPORTED", message: expect.stringContaining("cannot hold") }),
      );
    }
  });
});

/** Zeros may change their sign: a step of 0 has that of its scale in one form and none in another. */
function sameNumbers(a: Float32Array, b: Float32Array): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}

function expectSameTensors(got: Tensors, expected: Tensors, title: string): void {
  expect(Object.keys(got), title).toEqual(Object.keys(expected));
  for (const [key, { dtype, shape, bytes }] of Object.entries(expected)) {
    expect([got[key]!.dtype, got[key]!.shape], `${title}: ${key}`).toEqual([dtype, shape]);
    expect(Buffer.compare(got[key]!.bytes, bytes), `${title}: ${key}`).toBe(0);
  }
}

describe("ggml's blocks", () => {
  it.each(["Q4_0", "Q4_1", "Q8_0", "Q4_K"] as const)(
    "of type %s are written as they were read, whatever their bytes",
    (name) => {
      const { blockBytes, blockSize } = ggmlTypes().find((type) => type.name === name)!;
      fc.assert(
        fc.property(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 }), fc.integer(), (N, perRow, seed) => {
          const random = seededRandom(seed);
          const bytes = Uint8Array.from({ length: N * perRow * blockBytes }, () => Math.floor(random() * 256));
          const tensor = newTensor("U8", [N, perRow * blockBytes], bytes);
          const read = codecs[name]!.decode({ blocks: tensor });
          expect(read.matrix.K).toBe(perRow * blockSize);
          expectSameTensors(codecs[name]!.encode(read), { blocks: tensor }, name);
        }),
        { numRuns: 50 },
      );
    },
  );

  it.each([
    ["4 bits, zero points", { bits: 4, scale: "f16", scaleBits: 11, zeros: "any" }],
    ["6 bits, zero points", { bits: 6, scale: "f16", scaleBits: 11, zeros: "any" }],
    ["4 bits, scales in f32", { bits: 4, scale: "f32", scaleBits: 11, zeros: "middle" }],
  ] as [string, Kind][])("of type Q8_0 hold codes of %s", (_, kind) => {
    const { matrix } = random(3, 4, 3, kind);
    const { matrix: there } = codecs.Q8_0!.decode(codecs.Q8_0!.encode({ matrix }));
    expect(sameNumbers(weightsOf(there), weightsOf(matrix))).toBe(true);
  });

  it("of 32 hold groups of 64 and 128, each split", () => {
    for (const groupSize of [64, 128]) {
      const { matrix } = randomMatrix(5, 8, 256, groupSize, { bits: 4, scale: "f16", scaleBits: 11, zeros: "middle" });
      const { matrix: there } = codecs.Q4_0!.decode(codecs.Q4_0!.encode({ matrix }));
      expect(sameNumbers(weightsOf(there), weightsOf(matrix))).toBe(true);
    }
  });
});

describe("GPTQ and AWQ refuse", () => {
  const { matrix } = random(1, 1, 2, { bits: 4, scale: "bf16", scaleBits: 8, zeros: "middle" });
  const cases: [title: string, matrix: QuantizedMatrix, reason: RegExp][] = [
    ["a code book", { ...matrix, codeBook: new Int8Array(16) }, /code book/],
    ["a short last group", { ...matrix, groupSize: 48 }, /groups of 48 do not divide 64 inputs/],
    [
      "a zero point past the codes",
      { ...matrix, zero: 16 },
      /zero point of 16|output 0, group 0|offsets are not exact/,
    ],
  ];
  it.each(cases)("%s", (_, unfit, reason) => {
    for (const name of ["gptq v1", "awq"])
      expect(() => codecs[name]!.encode({ matrix: unfit }), name).toThrow(
        expect.objectContaining({ code: "ERR_UNSUPPORTED", message: expect.stringMatching(reason) }),
      );
  });

  it("an order that has an input twice", () => {
    const inputOrder = new Int32Array(64);
    expect(() => encodeGptq({ matrix, inputOrder })).toThrow(expect.objectContaining({ code: "ERR_ARGUMENT" }));
    expect(() => encodeCompressed({ matrix, inputOrder })).toThrow(expect.objectContaining({ code: "ERR_ARGUMENT" }));
  });
});
