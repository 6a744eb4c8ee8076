// `npm run bench:e2e`: Halfbyte and its rivals in turns, on the same model, machine and minute. See docs/benchmarks.md.
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { openGguf } from "../../src/formats/gguf/open-gguf.ts";
import { openFileSource } from "../../src/formats/node-file-source.ts";
import { cacheFolder, pull } from "../../src/hub/index.ts";
import { openText } from "../../src/text/open-text.ts";
import { describeMachine, type ModelFile, modelFile, rivalVersions } from "../machine.ts";
import { saveResults } from "../report.ts";
import type { Figures, Task } from "./arms/arm.d.ts";
import { ChromiumBench } from "./chromium.ts";
import { makeQ4_0 } from "./make-q4_0.ts";
import { nodeOfVersion, runInNode } from "./node.ts";
import { nativeReadCeiling, wasmReadCeiling } from "./read-ceiling.ts";
import { type Contest, contestTables } from "./tables.ts";

const USAGE = `npm run bench:e2e -- [--rounds 5] [--only TEXT] [--model PATH] [--prompt 256] [--decode 64]
--only runs the contests whose title has that text in it; --model is a GGUF file, by default SmolLM2.`;

export async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string", default: "5" },
      only: { type: "string", default: "" },
      model: { type: "string" },
      prompt: { type: "string", default: "256" },
      decode: { type: "string", default: "64" },
      help: { type: "boolean" },
    },
  });
  if (values.help) return console.log(USAGE);
  const rivals = rivalVersions();
  const chromium = await ChromiumBench.launch();
  try {
    const machine = { ...describeMachine(), ...rivals, chromium: chromium.version };
    const models = await bothModels(values.model);
    console.log(JSON.stringify({ machine, models }, undefined, 2));

    const ceilings = { wasm: await wasmReadCeiling(chromium), native: nativeReadCeiling() };
    const prompts = await makePrompts(models[0]!.path, Number(values.prompt), Number(values.decode));
    const contests = (await allContests(models, prompts, chromium)).filter(({ title }) => title.includes(values.only));
    for (let round = 0; round < Number(values.rounds); round++)
      for (const contest of contests) for (const arm of contest.arms) await runOnce(contest.title, round, arm);

    const results = { machine, models, ceilings, contests };
    console.log(contestTables(contests, ceilings));
    console.log(`all figures: ${saveResults("e2e", results)}`);
  } finally {
    await chromium.close();
  }
}

async function runOnce(title: string, round: number, arm: Contest["arms"][number]): Promise<void> {
  const figures = await arm.run();
  arm.figures.push(figures);
  const { prefillTokensPerSecond: prefill, decodeTokensPerSecond: decode, firstTokenMs: first } = figures;
  const load = describeMachine().loadAverage.toFixed(1);
  console.log(
    `round ${round + 1}, ${title}, ${arm.name}: prefill ${prefill.toFixed(1)}, decode ${decode.toFixed(1)} tokens/s, ` +
      `first token ${Math.round(first)} ms, load average ${load}`,
  );
}

/** The model as it is, and its Q4_0 twin, which is made once and kept in the cache folder. */
async function bothModels(given: string | undefined): Promise<readonly ModelFile[]> {
  const path = given ?? (await pull("smollm2")).path;
  const folder = join(cacheFolder(), "bench");
  mkdirSync(folder, { recursive: true });
  const original = await modelFile(path);
  const twin = join(folder, `${original.sha256.slice(0, 16)}.Q4_0.gguf`);
  if (!existsSync(twin)) await makeQ4_0(path, twin);
  return [original, await modelFile(twin)];
}

/** Prompts of so many tokens, from this project's licence: plain English that is at hand. wllama takes text only. */
async function makePrompts(path: string, longTokens: number, decodeTokens: number): Promise<Omit<Task, "threads">> {
  const file = await openGguf(await openFileSource(path));
  const { tokenizer } = await openText(file);
  await file.close();
  const licence = readFileSync(fileURLToPath(new URL("../../LICENSE", import.meta.url)), "utf8");
  const ids = tokenizer.encode(licence, { addBos: false });
  return {
    contextLength: 1024,
    shortPrompt: "The history of the steam engine begins in",
    longPrompt: tokenizer.decode(ids.slice(0, longTokens)),
    longPromptTokens: longTokens,
    warmUpPrompt: tokenizer.decode(ids.slice(longTokens, longTokens + 32)),
    decodeTokens,
  };
}

async function allContests(
  models: readonly ModelFile[],
  prompts: Omit<Task, "threads">,
  chromium: ChromiumBench,
): Promise<Contest[]> {
  const node24 = await nodeOfVersion(24);
  const contests: Contest[] = [];
  const arm = (name: string, run: () => Promise<Figures>): Contest["arms"][number] => ({ name, run, figures: [] });
  for (const [i, model] of models.entries())
    for (const threads of [1, 2]) {
      const task = { ...prompts, threads };
      const title = `${i === 0 ? "Q4_1" : "Q4_0"}, ${threads} thread${threads > 1 ? "s" : ""}`;
      const inPage = (name: string) => arm(name, () => chromium.run(name, model.path, task));
      contests.push({ title: `Chromium, ${title}`, model, arms: [inPage("halfbyte"), inPage("wllama")] });
      const inNode = (name: string, node: string, module: string) =>
        arm(name, () => runInNode(node, module, model.path, task));
      contests.push({
        title: `Node, ${title}`,
        model,
        arms: [
          inNode(`halfbyte, Node ${process.versions.node.split(".")[0]}`, process.execPath, "halfbyte"),
          inNode("halfbyte, Node 24", node24, "halfbyte"),
          inNode("node-llama-cpp", process.execPath, "node-llama-cpp"),
        ],
      });
    }
  return contests;
}
