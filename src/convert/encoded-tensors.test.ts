import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type MatrixKind, randomMatrix } from "../../test/encodings.ts";
import { MemoryFolder } from "../../test/memory-output.ts";
import { encodeAwq } from "../formats/encodings/awq.ts";
import { encodeCompressed } from "../formats/encodings/compressed-tensors.ts";
import { encodeCpuInt4 } from "../formats/encodings/cpu-int4.ts";
import type { OrderedMatrix } from "../formats/encodings/form.ts";
import { encodeGptq } from "../formats/encodings/gptq.ts";
import type { Tensor } from "../formats/encodings/tensors.ts";
import { memorySource } from "../formats/memory-source.ts";
import { openSafetensors } from "../formats/safetensors/open-safetensors.ts";
import { tensorBytes } from "../formats/tensor-bytes.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import { takeRows } from "../weights/slice-matrix.ts";
import { encodedTensors } from "./encoded-tensors.ts";
import { type FolderEncoding, folderForm } from "./folder-form.ts";
import { writeSafetensors } from "./write-safetensors.ts";

function sourceOf({ matrix, inputOrder }: OrderedMatrix): MatrixSource {
  const { N, K } = matrix;
  const rows = (first: number, count: number) =>
    takeRows(
      matrix,
      Array.from({ length: count }, (_, i) => first + i),
    );
  return {
    ...{ name: "w.weight", N, K, rowBytes: K, like: rows(0, 0), readRows: async (first, count) => rows(first, count) },
    ...(inputOrder && { inputOrder }),
  };
}

const plain: MatrixKind = { bits: 4, scale: "bf16", scaleBits: 4, zeros: "middle" };
const zeros: MatrixKind = { bits: 8, scale: "f16", scaleBits: 11, zeros: "any" };

type Encode = (ordered: OrderedMatrix) => Readonly<Record<string, Tensor>>;
const cases: [encoding: FolderEncoding, kind: MatrixKind, encode: Encode][] = [
  ["cpu_int4", plain, ({ matrix }) => encodeCpuInt4(matrix)],
  ["awq", { ...zeros, bits: 4 }, ({ matrix }) => encodeAwq(matrix)],
  ["gptq_v2", zeros, (ordered) => encodeGptq(ordered, "v2")],
  ["gptq_v2", { ...zeros, bits: 4, order: true }, (ordered) => encodeGptq(ordered, "v2")],
  ["gptq", plain, (ordered) => encodeGptq(ordered, "v1")],
  ["compressed-tensors", { ...zeros, bits: 4 }, (ordered) => encodeCompressed(ordered)],
  ["compressed-tensors", { ...plain, order: true }, (ordered) => encodeCompressed(ordered)],
];

describe.each(cases)("a matrix in %s that is written in parts", (encoding, kind, encode) => {
  it("is the same as one written at once", async () => {
    const sizes = fc.tuple(fc.integer(), fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 3 }));
    const property = fc.asyncProperty(sizes, async ([seed, eights, groups]) => {
      const ordered = randomMatrix(seed, eights * 8, groups * 32, 32, kind);
      const source = sourceOf(ordered);
      const form = await folderForm(source, encoding);
      const folder = new MemoryFolder();
      // 16 rows at a time.
      await writeSafetensors(folder, [encodedTensors("w", source, form, 1)]);
      const file = memorySource(folder.files.get("model.safetensors")!.bytes, "model.safetensors");
      const { tensors } = await openSafetensors(file);
      const whole = encode(ordered);
      expect([...tensors.keys()].sort()).toEqual(
        Object.keys(whole)
          .map((end) => `w.${end}`)
          .sort(),
      );
      for (const [end, { dtype, shape, bytes }] of Object.entries(whole)) {
        const written = tensors.get(`w.${end}`)!;
        expect([written.dtype, written.shape], end).toEqual([dtype, shape]);
        expect(Buffer.compare(await tensorBytes(written), bytes), end).toBe(0);
      }
    });
    await fc.assert(property, { numRuns: 25 });
  });
});

describe("a model too large for one file", () => {
  it("is cut between matrices, with an index", async () => {
    const outgoing = await Promise.all(
      [1, 2, 3].map(async (seed) => {
        const source = sourceOf(randomMatrix(seed, 16, 64, 32, plain));
        return encodedTensors(`layers.${seed}`, source, await folderForm(source, "gptq"));
      }),
    );
    const folder = new MemoryFolder();
    const bytes = outgoing[0]!.tensors.reduce((sum, { byteLength }) => sum + byteLength, 0);
    await writeSafetensors(folder, outgoing, { maxShardBytes: 2 * bytes });
    await (await folder.file("config.json")).write(0, new TextEncoder().encode("{}"));
    expect([...folder.files.keys()]).toEqual([
      "model-00001-of-00002.safetensors",
      "model-00002-of-00002.safetensors",
      "model.safetensors.index.json",
      "config.json",
    ]);
    const { tensors } = await folder.open();
    expect(tensors.size).toBe(12);
    expect(tensors.get("layers.3.qweight")!.source.name).toBe("model-00002-of-00002.safetensors");
  });
});

describe("version 1 of GPTQ", () => {
  it("is refused for a zero point of 0, which its readers take in different ways", async () => {
    const { matrix } = randomMatrix(1, 16, 64, 32, { ...zeros, bits: 4 });
    const source = sourceOf({ matrix: { ...matrix, zero: new Uint8Array(32) } });
    await expect(folderForm(source, "gptq")).rejects.toThrow(/^w\.weight: GPTQ cannot hold.*gptq_v2 holds it/);
    await expect(folderForm(source, "gptq_v2")).resolves.toMatchObject({ symmetric: false });
  });
});
