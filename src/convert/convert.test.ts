import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { goldenPath } from "../../test/golden-data.ts";
import { MemoryFolder, MemorySink } from "../../test/memory-output.ts";
import { firstDifference, type ModelFile, modelWeightsOf } from "../../test/model-weights.ts";
import { openFiles } from "../../test/quantized-folder.ts";
import { type GgufFile, openGguf } from "../formats/gguf/open-gguf.ts";
import { memorySource } from "../formats/memory-source.ts";
import type { HuggingFaceFolder } from "../formats/safetensors/hugging-face-folder.ts";
import { type Conversion, conversionTarget, planConversion } from "./convert.ts";

async function _openFolder(path: string): Promise<HuggingFaceFolder> {
  const files = new Map<string, Uint8Array>();
  for (const name of await readdir(path)) files.set(name, await readFile(`${path}/${name}`));
  return openFiles(files);
}

async function openOwn(name: string): Promise<GgufFile> {
  const path = fileURLToPath(new URL(`../../test/golden/${name}`, import.meta.url));
  return openGguf(memorySource(await readFile(path), name));
}

async function written(conversion: Conversion): Promise<ModelFile> {
  if (conversion.format === "gguf") {
    const sink = new MemorySink();
    await conversion.write(sink);
    return openGguf(memorySource(sink.bytes, "out.gguf"));
  }
  const folder = new MemoryFolder();
  await conversion.write(folder);
  return folder.open();
}

async function convert(file: ModelFile, to: string, lossy = false): Promise<ModelFile> {
  return written(await planConversion(file, conversionTarget(to), { lossy }));
}

async function expectSameWeights(a: ModelFile, b: ModelFile): Promise<void> {
  const [first, second] = [await modelWeightsOf(a), await modelWeightsOf(b)];
  expect([...second.keys()]).toEqual([...first.keys()]);
  expect(firstDifference(first, second)).toBeUndefined();
}

// Scales of these files are eighths of bf16 weights, so that bf16 holds them.
const GGUF_TARGETS = [
  "cpu_int4",
  "gguf",
  "gguf:f32",
  "gguf:q8_0",
  "compressed-tensors",
  "gptq",
  "gptq_v2",
  "awq",
  "f32",
];

describe.each(["llama-q4_0.gguf", "gemma3-q4_0.gguf"])("%s", (name) => {
  it.each(GGUF_TARGETS)("keeps every weight as %s, and back in GGUF", async (to) => {
    const file = await openOwn(name);
    const there = await convert(file, to);
    await expectSameWeights(file, there);
    await expectSameWeights(file, await convert(there, "gguf"));
  });

  it.each([
    ["f16", 0.0005],
    ["gguf:q4_1", 0.1],
  ])("is refused as %s with the first tensor, and rounded where asked", async (to, bound) => {
    const file = await openOwn(name);
    await expect(convert(file, to)).rejects.toThrow(
      expect.objectContaining({
        code: "ERR_UNSUPPORTED",
        message: expect.stringMatching(/^(token_embd|blk\.0|model\.).*exact/),
      }),
    );
    const there = await convert(file, to, true);
    const [exact, rounded] = [await modelWeightsOf(file), await modelWeightsOf(there)];
    // Half a unit in the last place of f16, and for an 8-bit embedding in 4 bits half a step of 15.
    for (const [tensor, values] of exact)
      expect(Math.sqrt(relativeError(values, rounded.get(tensor)!)), tensor).toBeLessThan(bound);
  });
});

const k256 = goldenPath("golden-models", "twins", "llama_k256", "gguf");
describe.skipIf(!k256)(`K-quants${k256 ? "" : " (skipped: golden models are not beside the project)"}`, () => {
  it.each(["mixed", "q4_k_m"])("of %s keep every weight as floats, and as the same file", async (name) => {
    const bytes = await readFile(`${k256}/llama_k256-${name}.gguf`);
    const file = await openGguf(memorySource(bytes, name));
    await expectSameWeights(file, await convert(file, "f32"));
    const again = await planConversion(file, conversionTarget("gguf"));
    const sink = new MemorySink();
    if (again.format === "gguf") await again.write(sink);
    expect(Buffer.compare(sink.bytes, bytes)).toBe(0);
  });

  it("of Q4_K are written as Q4_K, where all of a file can be", async () => {
    const file = await openGguf(memorySource(await readFile(`${k256}/llama_k256-q4_k_m.gguf`)));
    await expect(convert(file, "gguf:q4_k")).rejects.toThrow(
      /^(token_embd|blk\.\d+\.(attn_v|ffn_down))\.weight: Q4_K cannot/,
    );
    await expect(convert(file, "compressed-tensors")).rejects.toThrow(
      /^blk\.0\.attn_q\.weight: compressed-tensors cannot/,
    );
  });
});

function relativeError(exact: Float32Array, values: Float32Array): number {
  let [error, norm] = [0, 0];
  for (const [i, value] of exact.entries()) {
    error += (values[i]! - value) ** 2;
    norm += value ** 2;
  }
  return error / norm;
}
