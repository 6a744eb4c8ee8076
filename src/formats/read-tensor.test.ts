import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { writeGguf } from "../../test/gguf-writer.ts";
import { ggmlType } from "./ggml/types.ts";
import { openGguf } from "./gguf/open-gguf.ts";
import { memorySource } from "./memory-source.ts";
import { ggufFloats, ggufMatrix } from "./read-tensor.ts";
import { openSafetensors } from "./safetensors/open-safetensors.ts";
import { tensorBytes } from "./tensor-bytes.ts";

const blocks = memorySource(readFileSync(new URL("../../test/golden/ggml-blocks.safetensors", import.meta.url)));
const golden = await openSafetensors(blocks);
const raw = await tensorBytes(golden.tensors.get("Q4_K/raw")!);
const data = (await tensorBytes(golden.tensors.get("Q4_K/f32")!)).buffer;
const Q4_K = 12;

it("a GGUF tensor reads whole as floats and by rows as a matrix or as its blocks", async () => {
  const file = await openGguf(
    memorySource(writeGguf({ tensors: [{ name: "w", type: Q4_K, shape: [512, 4], data: raw }] })),
  );
  const tensor = file.tensors.get("w")!;
  expect(await ggufFloats(tensor)).toEqual(new Float32Array(data));
  const matrix = ggufMatrix(tensor);
  expect([matrix.N, matrix.K, matrix.rowBytes]).toEqual([4, 512, 288]);
  expect(matrix.like).toMatchObject({ kind: "quantized", bits: 4, groupSize: 32, N: 0, K: 512 });
  const [all, last] = [await matrix.readRows(0, 4), await matrix.readRows(3, 1)];
  if (all.kind !== "quantized" || last.kind !== "quantized") throw expect.fail("not quantised");
  expect(last.codes).toEqual(all.codes.slice(3 * 512));
  const target = new Uint8Array(new SharedArrayBuffer(2 * 288));
  expect(matrix.ggml!.type).toBe(Q4_K);
  await matrix.ggml!.readInto(1, 2, target);
  expect(target.slice()).toEqual(new Uint8Array(new SharedArrayBuffer(576)).map((_, i) => raw[288 + i]!));
  await expect(matrix.readRows(3, 2)).rejects.toMatchObject({ code: "ERR_TRUNCATED" });
  await expect(matrix.ggml!.readInto(5, 1, target)).rejects.toMatchObject({ code: "ERR_TRUNCATED" });
});

it("a GGUF tensor of a type that is only listed is refused by name", async () => {
  const file = await openGguf(
    memorySource(writeGguf({ tensors: [{ name: "w", type: ggmlType(16).id, shape: [256, 1] }] })),
  );
  expect(() => ggufMatrix(file.tensors.get("w")!)).toThrow(/IQ2_XXS/);
  await expect(ggufFloats(file.tensors.get("w")!)).rejects.toMatchObject({ code: "ERR_UNSUPPORTED" });
});
