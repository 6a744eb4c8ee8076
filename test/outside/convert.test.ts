import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { conversionTarget, planConversion } from "../../src/convert/convert.ts";
import { openOutput } from "../../src/convert/node-output.ts";
import { encodeCompressed } from "../../src/formats/encodings/compressed-tensors.ts";
import type { Tensor } from "../../src/formats/encodings/tensors.ts";
import { type GgufFile, openGguf } from "../../src/formats/gguf/open-gguf.ts";
import { memorySource } from "../../src/formats/memory-source.ts";
import { openFileSource } from "../../src/formats/node-file-source.ts";
import { safetensorsFloats } from "../../src/formats/read-tensor.ts";
import type { HuggingFaceFolder } from "../../src/formats/safetensors/hugging-face-folder.ts";
import { openSafetensors } from "../../src/formats/safetensors/open-safetensors.ts";
import { type MatrixKind, randomMatrix } from "../encodings.ts";
import { goldenPath } from "../golden-data.ts";
import { firstDifference, type ModelFile, weightsAsIn } from "../model-weights.ts";
import { smollm2Path } from "../models.ts";
import { type Encode, filesOf, openFiles, quantizedLlama } from "../quantized-folder.ts";
import { outsidePython } from "./python.ts";

const python = await outsidePython();
const folder = await mkdtemp(join(tmpdir(), "halfbyte-outside-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What reads a target, by the names of read_weights.py. */
function readerOf(to: string): string {
  if (to.startsWith("gguf")) return "gguf";
  if (to === "f32" || to === "f16" || to === "bf16") return "floats";
  return to === "gptq_v2" ? "gptq" : to;
}

async function openOwn(name: string): Promise<GgufFile> {
  const path = fileURLToPath(new URL(`../golden/${name}`, import.meta.url));
  return openGguf(memorySource(await readFile(path), name));
}

async function openFolder(path: string): Promise<HuggingFaceFolder> {
  const names = await readdir(path);
  return openFiles(
    new Map(await Promise.all(names.map(async (name) => [name, await readFile(join(path, name))] as const))),
  );
}

/** A random model whose matrices are of these kinds in turn. */
function randomModel(...kinds: MatrixKind[]): Promise<HuggingFaceFolder> {
  let seed = 0;
  const encode: Encode = ({ N, K }) =>
    encodeCompressed(randomMatrix(seed++, N, K, 32, kinds[seed % kinds.length]!)) as Readonly<Record<string, Tensor>>;
  return openFiles(filesOf(quantizedLlama({ quant_method: "compressed-tensors", format: "pack-quantized" }, encode)));
}

const asymmetric: MatrixKind = { bits: 4, scale: "f16", scaleBits: 11, zeros: "any" };
const wide: MatrixKind = { bits: 8, scale: "bf16", scaleBits: 8, zeros: "any" };
const symmetric: MatrixKind = { bits: 8, scale: "f16", scaleBits: 11, zeros: "middle" };

/** Converts and has the result read by other software; the weights must be those of the source. */
async function expectSameOutside(file: ModelFile, to: string): Promise<void> {
  if (typeof python === "string") throw new Error(python);
  const target = conversionTarget(to);
  const isGguf = target.format === "gguf";
  const path = join(folder, `${Math.random().toString(36).slice(2)}${isGguf ? ".gguf" : ""}`);
  const conversion = await planConversion(file, target);
  const output = await openOutput(path, isGguf ? "file" : "folder");
  if (conversion.format === "gguf") await conversion.write(await output.sink());
  else await conversion.write(output.folder);
  await output.commit();
  const read = `${path}.read.safetensors`;
  await python.run("read_weights.py", [readerOf(to), path, read]);
  const source = await openFileSource(read);
  const found = new Map<string, Float32Array>();
  for (const [name, tensor] of (await openSafetensors(source)).tensors)
    found.set(name, await safetensorsFloats(tensor));
  await source.close();
  expect(firstDifference(await weightsAsIn(target.format, file), found)).toBeUndefined();
}

const TARGETS = ["f32", "cpu_int4", "gptq", "gptq_v2", "awq", "compressed-tensors", "gguf", "gguf:q8_0", "gguf:f32"];
const skipped = typeof python === "string" ? `skipped: ${python}` : undefined;
const hasTorch = typeof python !== "string" && python.hasTorch;

function targets(...but: string[]): string[] {
  return TARGETS.filter((to) => !but.includes(to) && (hasTorch || to !== "compressed-tensors"));
}

describe.skipIf(skipped)(`other software reads what convert writes${skipped ? ` (${skipped})` : ""}`, () => {
  it.skipIf(hasTorch)(
    "compressed-tensors: skipped, as the system's Python has no torch (Debian: python3-torch)",
    () => {},
  );

  describe.each(["llama-q4_0.gguf", "gemma3-q4_0.gguf"])("%s", (name) => {
    it.each(targets())("as %s", async (to) => expectSameOutside(await openOwn(name), to));
  });

  it.each(targets("f32", "gguf", "cpu_int4", "awq", "gguf:q8_0", "gptq"))(
    "zero points and codes of 4 and 8 bits, mixed, as %s",
    async (to) => {
      await expectSameOutside(await randomModel(asymmetric, wide, symmetric), to);
    },
  );

  it.each(targets("cpu_int4", "awq", "gguf:q8_0", "gptq"))("an order of inputs as %s", async (to) => {
    await expectSameOutside(await randomModel({ ...asymmetric, order: true }, symmetric), to);
  });

  const twins = goldenPath("golden-models", "twins");
  describe.skipIf(!twins)(`golden twins${twins ? "" : " (skipped: not beside the project)"}`, () => {
    it.each(["llama", "qwen3", "gemma3"])("cpu_int4 of %s as f32 and as GGUF", async (name) => {
      for (const to of ["f32", "gguf"])
        await expectSameOutside(await openFolder(`${twins}/${name}/cpu_int4_embed`), to);
    });
  });

  it("SmolLM2 as f32", async ({ skip }) => {
    const path = await smollm2Path();
    if (!path) return skip("SmolLM2 is not in the cache");
    const file = await openGguf(await openFileSource(path));
    await expectSameOutside(file, "f32").finally(() => file.close());
  });
});
