import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ConversionTarget, conversionTarget, planConversion } from "../../src/convert/convert.ts";
import { openOutput } from "../../src/convert/node-output.ts";
import { openGguf } from "../../src/formats/gguf/open-gguf.ts";
import { memorySource } from "../../src/formats/memory-source.ts";
import { openSafetensors, type SafetensorsTensor } from "../../src/formats/safetensors/open-safetensors.ts";
import { tensorBytes } from "../../src/formats/tensor-bytes.ts";
import { MemoryFolder } from "../memory-output.ts";
import type { ModelFile } from "../model-weights.ts";
import { type GreedyJob, nodeLlamaCpp } from "./node-llama-cpp.ts";

const greedy = await nodeLlamaCpp();
const folder = await mkdtemp(join(tmpdir(), "halfbyte-llama-cpp-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

const golden = (name: string): string => fileURLToPath(new URL(`../golden/${name}`, import.meta.url));

async function longs(tensor: SafetensorsTensor): Promise<number[]> {
  return Array.from(new BigInt64Array((await tensorBytes(tensor)).buffer), Number);
}

/** By way of a folder, all keys and tensors of the GGUF file are made anew. */
async function throughFolder(file: ModelFile, encoding: string): Promise<ModelFile> {
  const conversion = await planConversion(file, conversionTarget(encoding));
  if (conversion.format !== "folder") throw new Error(`${encoding} is no folder`);
  const output = new MemoryFolder();
  await conversion.write(output);
  return output.open();
}

async function writeFile(file: ModelFile, target: ConversionTarget, path: string): Promise<void> {
  const conversion = await planConversion(file, target);
  if (conversion.format !== "gguf") throw new Error("not a file");
  const output = await openOutput(path, "file");
  await conversion.write(await output.sink());
  await output.commit();
}

interface Case {
  readonly name: string;
  readonly encoding: string;
  readonly to: string;
}

// Of floats llama.cpp computes in floats, and the steps of the golden answers have no near ties.
const exact: readonly Case[] = [
  { name: "llama", encoding: "compressed-tensors", to: "gguf:f32" },
  { name: "llama", encoding: "gptq", to: "gguf:f32" },
  { name: "gemma3", encoding: "awq", to: "gguf:f32" },
  { name: "gemma3", encoding: "cpu_int4", to: "gguf:f32" },
];
/** With blocks it rounds activations, and its tokens may be others. */
const rounding: readonly Case[] = [
  { name: "llama", encoding: "gptq", to: "gguf" },
  { name: "gemma3", encoding: "gptq", to: "gguf:q8_0" },
];
const all = [...exact, ...rounding];
const skipped = typeof greedy === "string" ? `skipped: ${greedy}` : undefined;

describe.skipIf(skipped)(`llama.cpp generates from what convert writes${skipped ? ` (${skipped})` : ""}`, () => {
  const answers: number[][] = [];
  const truths: number[][] = [];

  beforeAll(async () => {
    if (typeof greedy === "string") return;
    const jobs: GreedyJob[] = [];
    for (const [i, { name, encoding, to }] of all.entries()) {
      const file = await openGguf(memorySource(await readFile(golden(`${name}-q4_0.gguf`)), name));
      const model = join(folder, `${i}.gguf`);
      await writeFile(await throughFolder(file, encoding), conversionTarget(to), model);
      const truth = golden(`${name}-q4_0.golden.safetensors`);
      const { tensors } = await openSafetensors(memorySource(await readFile(truth), truth));
      const expected = await longs(tensors.get("greedy")!);
      truths.push(expected);
      jobs.push({ model, prompt: await longs(tensors.get("input_ids")!), count: expected.length });
    }
    answers.push(...(await greedy(jobs)));
  }, 300_000);

  it.each(exact.map((each, i) => ({ ...each, i })))(
    "the golden tokens of $name as $to, by way of a folder in $encoding",
    ({ i }) => expect(answers[i]).toEqual(truths[i]),
  );

  it.each(rounding.map((each, i) => ({ ...each, i: exact.length + i })))(
    "as many tokens as are asked of $name as $to, blocks made anew of $encoding",
    ({ i }) => expect(answers[i]).toHaveLength(truths[i]!.length),
  );
});
