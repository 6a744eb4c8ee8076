import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { goldenPath } from "../../../test/golden-data.ts";
import { gemmaPath, smollm2Path } from "../../../test/models.ts";
import { f16ToF32 } from "../../arithmetic/half.ts";
import type { GroupValues, Matrix, QuantizedMatrix } from "../../weights/quantized-matrix.ts";
import { readBytes } from "../byte-source.ts";
import { openGguf } from "../gguf/open-gguf.ts";
import { memorySource } from "../memory-source.ts";
import { openFileSource } from "../node-file-source.ts";
import { openSafetensors } from "../safetensors/open-safetensors.ts";
import { tensorBytes } from "../tensor-bytes.ts";
import { decodeToFloat, decodeToMatrix } from "./decode.ts";
import { type GgmlType, ggmlType, ggmlTypes } from "./types.ts";

const blocks = readFileSync(new URL("../../../test/golden/ggml-blocks.safetensors", import.meta.url));
const golden = await openSafetensors(memorySource(blocks));
const decodable = ggmlTypes().filter((type) => type.decodes);
const ROWS = 4;
const COLUMNS = 512;

async function goldenBlocks(type: GgmlType): Promise<{ raw: Uint8Array; values: Float32Array }> {
  const raw = await tensorBytes(golden.tensors.get(`${type.name}/raw`)!);
  return { raw, values: new Float32Array((await tensorBytes(golden.tensors.get(`${type.name}/f32`)!)).buffer) };
}

/** Bits, so that −0 is not 0. */
const bits = (values: Float32Array): Uint32Array => new Uint32Array(values.buffer, values.byteOffset, values.length);

/** `scale · (value(code) − zero) + offset` straight from the definition, apart from the product's own dequantiser. */
function dequantise(matrix: Matrix): Float32Array {
  const { N, K } = matrix;
  const out = new Float32Array(N * K);
  if (matrix.kind === "float") {
    const bytes = new Uint8Array(matrix.values.buffer, matrix.values.byteOffset, matrix.values.byteLength);
    const name = matrix.type.toUpperCase();
    decodeToFloat(decodable.find((type) => type.name === name)!, bytes, out);
    return out;
  }
  for (let i = 0; i < N * K; i++) {
    const n = Math.floor(i / K);
    const k = i % K;
    const code = matrix.codes[i]!;
    const value = matrix.codeBook ? matrix.codeBook[code]! : code;
    const scaled = Math.fround(groupValue(matrix, matrix.scale, n, k) * (value - (matrix.zero as number)));
    if (!matrix.offset) out[i] = scaled;
    else {
      const offset = groupValue(matrix, matrix.offset, n, k);
      out[i] = "superValues" in matrix.offset ? scaled - offset : scaled + offset;
    }
  }
  return out;
}

function groupValue(matrix: QuantizedMatrix, values: GroupValues, n: number, k: number): number {
  const groups = matrix.K / matrix.groupSize;
  const at = n * groups + Math.floor(k / matrix.groupSize);
  if ("superValues" in values) {
    const codes = values.kind === "two-level-i8" ? new Int8Array(values.codes.buffer) : values.codes;
    const top = values.superValues[n * (matrix.K / values.superSize) + Math.floor(k / values.superSize)]!;
    return Math.fround(f16ToF32(top) * codes[at]!);
  }
  if (values.kind === "bf16") return new Float32Array(Uint32Array.of(values.values[at]! << 16).buffer)[0]!;
  return values.kind === "f16" ? f16ToF32(values.values[at]!) : values.values[at]!;
}

describe.each(decodable.filter((type) => type.name !== "F32").map((type) => [type.name, type] as const))(
  "%s",
  (_, type) => {
    it("gives the f32 bits of ggml's reference", async () => {
      const { raw, values } = await goldenBlocks(type);
      const out = new Float32Array(ROWS * COLUMNS);
      decodeToFloat(type, raw, out);
      expect(bits(out)).toEqual(bits(values));
    });

    // Every product is exact in f32 (11 bits of d, at most 8 of the scale, at most 7 of the code), and with an offset
    // there is one rounding on either way: so equality, not closeness.
    it("means the same weights as a matrix, bit for bit", async () => {
      const { raw, values } = await goldenBlocks(type);
      expect(bits(dequantise(decodeToMatrix(type, raw, ROWS, COLUMNS)))).toEqual(bits(values));
      expect(bits(dequantise(decodeToMatrix(type, raw, ROWS * 2, COLUMNS / 2)))).toEqual(bits(values));
    });

    it("decodes any range of rows to those rows, from any alignment", async () => {
      const { raw } = await goldenBlocks(type);
      const rowBytes = raw.byteLength / ROWS;
      const whole = dequantise(decodeToMatrix(type, raw, ROWS, COLUMNS));
      const shifted = new Uint8Array(raw.byteLength + 1);
      shifted.set(raw, 1);
      fc.assert(
        fc.property(fc.nat(ROWS), fc.nat(ROWS), (a, b) => {
          const [first, last] = [Math.min(a, b), Math.max(a, b)];
          const rows = shifted.subarray(1 + first * rowBytes, 1 + last * rowBytes);
          const matrix = decodeToMatrix(type, rows, last - first, COLUMNS);
          expect(bits(dequantise(matrix))).toEqual(bits(whole.slice(first * COLUMNS, last * COLUMNS)));
        }),
        { numRuns: 20 },
      );
    });

    it("keeps codes within their bits", async () => {
      const { raw } = await goldenBlocks(type);
      const matrix = decodeToMatrix(type, raw, ROWS, COLUMNS);
      if (matrix.kind === "quantized") expect(Math.max(...matrix.codes)).toBeLessThan(2 ** matrix.bits);
    });

    it("refuses bytes that do not fit the shape", async () => {
      const { raw } = await goldenBlocks(type);
      const wrong = { code: "ERR_SHAPE" };
      expect(() => decodeToMatrix(type, raw.subarray(1), ROWS, COLUMNS)).toThrow(expect.objectContaining(wrong));
      expect(() => decodeToMatrix(type, raw, ROWS + 1, COLUMNS)).toThrow(expect.objectContaining(wrong));
      expect(() => decodeToMatrix(type, raw, -ROWS, -COLUMNS)).toThrow(expect.objectContaining(wrong));
      expect(() => decodeToMatrix(type, raw, 0.5, COLUMNS)).toThrow(expect.objectContaining(wrong));
      expect(() => decodeToFloat(type, raw, new Float32Array(7))).toThrow(expect.objectContaining(wrong));
    });
  },
);

describe("types", () => {
  it("F32 is copied", () => {
    const values = Float32Array.of(1, -0, 1e-45, 3.4e38);
    const out = new Float32Array(4);
    decodeToFloat(ggmlType(0), new Uint8Array(values.buffer), out);
    expect(bits(out)).toEqual(bits(values));
    const matrix = decodeToMatrix(ggmlType(0), new Uint8Array(values.buffer), 2, 2);
    expect(matrix).toEqual({ kind: "float", N: 2, K: 2, type: "f32", values });
  });

  it("that are only listed are refused by name", () => {
    const type = ggmlType(16);
    expect(() => decodeToMatrix(type, new Uint8Array(66), 1, 256)).toThrow(/IQ2_XXS cannot be decoded/);
    expect(() => decodeToFloat(type, new Uint8Array(66), new Float32Array(256))).toThrow(/IQ2_XXS/);
  });
});

const f16Twin = goldenPath("golden-models", "twins", "llama", "gguf", "llama-f16.gguf");
it.skipIf(!f16Twin)(
  "an F16 file of gguf's own writer has the bf16 model's embedding (skipped without golden data)",
  async () => {
    const file = await openGguf(await openFileSource(f16Twin!));
    const model = await openSafetensors(
      await openFileSource(goldenPath("golden-models", "tiny", "llama", "model.safetensors")!),
    );
    const embedding = file.tensors.get("token_embd.weight")!;
    const original = model.tensors.get("model.embed_tokens.weight")!;
    const a = new Float32Array(embedding.N * embedding.K);
    const b = new Float32Array(a.length);
    decodeToFloat(embedding.type, await tensorBytes(embedding), a);
    decodeToFloat(ggmlType(30), await tensorBytes(original), b);
    // f16 has more fraction than bf16: only weights below its smallest normal number, 2^-14, may differ.
    for (let i = 0; i < a.length; i++) if (Math.abs(b[i]!) >= 2 ** -14) expect(a[i]).toBe(b[i]);
    await file.close();
    await original.source.close();
  },
);

describe.each([
  ["SmolLM2", await smollm2Path()],
  ["Gemma 3 270M", await gemmaPath()],
])("%s", (_, path) => {
  it.skipIf(!path)("has finite weights in every tensor (skipped where the model is not cached)", async () => {
    const file = await openGguf(await openFileSource(path!));
    for (const tensor of file.tensors.values()) {
      const rows = Math.min(tensor.N, 64);
      const bytes = await readBytes(tensor.source, tensor.offset, (tensor.byteLength / tensor.N) * rows);
      const values = new Float32Array(rows * tensor.K);
      decodeToFloat(tensor.type, bytes, values);
      expect(values.every(Number.isFinite), tensor.name).toBe(true);
    }
    await file.close();
  });
});
