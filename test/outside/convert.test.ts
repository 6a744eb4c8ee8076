import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
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
import { type QuantizeModelOptions, quantizeModel } from "../../src/quantize/quantize-model.ts";
import { type MatrixKind, randomMatrix } from "../encodings.ts";
import { goldenPath } from "../golden-data.ts";
import { firstDifference, type ModelFile, weightsAsIn } from "../model-weights.ts";
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

/** A source, and what it is converted to. */
interface Case {
  readonly title: string;
  readonly open: () => Promise<ModelFile>;
  readonly to: string;
  /** Made by `quantize`, so that the weights are those Halfbyte finds in its own file. */
  readonly quantize?: boolean;
}

const hasTorch = typeof python !== "string" && python.hasTorch;
const TARGETS = ["f32", "cpu_int4", "gptq", "gptq_v2", "awq", "compressed-tensors", "gguf", "gguf:q8_0", "gguf:f32"];

function cases(title: string, open: () => Promise<ModelFile>, targets: readonly string[]): Case[] {
  return targets.filter((to) => hasTorch || to !== "compressed-tensors").map((to) => ({ title, open, to }));
}

const twins = goldenPath("golden-models", "twins");
const all: readonly Case[] = [
  ...["llama-q4_0.gguf", "gemma3-q4_0.gguf"].flatMap((name) => cases(name, () => openOwn(name), TARGETS)),
  ...cases("zero points and codes of 4 and 8 bits, mixed,", () => randomModel(asymmetric, wide, symmetric), [
    ...["gptq_v2", "compressed-tensors", "gguf:f32"],
  ]),
  ...cases("an order of inputs", () => randomModel({ ...asymmetric, order: true }, symmetric), [
    ...["f32", "gptq_v2", "compressed-tensors", "gguf", "gguf:f32"],
  ]),
  ...["cpu_int4", "gptq", "gptq_v2", "awq", "compressed-tensors", "gguf:q4_0", "gguf:q4_1", "gguf:q8_0"].flatMap((to) =>
    cases("what quantize makes", () => openOwn("llama-q4_0.gguf"), [to]).map((each) => ({ ...each, quantize: true })),
  ),
  ...["llama", "qwen3", "gemma3"].flatMap((name) =>
    twins
      ? cases(`golden ${name} in cpu_int4`, () => openFolder(`${twins}/${name}/cpu_int4_embed`), ["f32", "gguf"])
      : [],
  ),
];

/** Converts to a path and returns it. */
async function converted({ open, to, quantize = false }: Case, i: number): Promise<string> {
  const target = conversionTarget(to);
  const path = join(folder, target.format === "gguf" ? `${i}.gguf` : String(i));
  if (quantize) {
    const encoding = to as QuantizeModelOptions["encoding"];
    await quantizeModel(await open(), path, { encoding, method: "search", groupSize: 32 });
    return path;
  }
  const conversion = await planConversion(await open(), target);
  const output = await openOutput(path, conversion.format === "gguf" ? "file" : "folder");
  if (conversion.format === "gguf") await conversion.write(await output.sink());
  else await conversion.write(output.folder);
  await output.commit();
  return path;
}

async function weightsIn(path: string): Promise<Map<string, Float32Array>> {
  const source = await openFileSource(path);
  const weights = new Map<string, Float32Array>();
  for (const [name, tensor] of (await openSafetensors(source)).tensors)
    weights.set(name, await safetensorsFloats(tensor));
  await source.close();
  return weights;
}

const skipped = typeof python === "string" ? `skipped: ${python}` : undefined;

describe.skipIf(skipped)(`other software reads what convert writes${skipped ? ` (${skipped})` : ""}`, () => {
  // One run of Python for all: importing its packages takes longer than reading the models.
  beforeAll(async () => {
    const paths = await Promise.all(all.map(converted));
    const jobs = paths.flatMap((path, i) => [readerOf(all[i]!.to), path, `${path}.read.safetensors`]);
    if (typeof python !== "string") await python.run("read_weights.py", jobs);
  }, 300_000);

  it.skipIf(hasTorch)(
    "compressed-tensors: skipped, as the system's Python has no torch (Debian: python3-torch)",
    () => {},
  );

  it.each(all.map((each, i) => ({ ...each, i })))("$title as $to", async ({ open, to, i, quantize = false }) => {
    const { format } = conversionTarget(to);
    const path = join(folder, `${i}${format === "gguf" ? ".gguf" : ""}`);
    const written = format === "gguf" ? openGguf(memorySource(await readFile(path))) : openFolder(path);
    const read = await weightsIn(`${path}.read.safetensors`);
    expect(firstDifference(await weightsAsIn(format, await (quantize ? written : open())), read)).toBeUndefined();
  });
});
