// `npm run bench:start`: from the start of a process to its first token, its peak memory, and what an import costs.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { pull } from "../../src/hub/index.ts";
import { nodeOfVersion } from "../e2e/node.ts";
import { describeMachine, type ModelFile, modelFile, rivalVersions } from "../machine.ts";
import { type Summary, saveResults, shown, summarize, table } from "../report.ts";

const USAGE = `npm run bench:start -- [--rounds 5] [--model PATH …]
Models are GGUF files, by default SmolLM2 and Gemma 3 270M.`;
const IMPORTS = 10;
const MB = 1e6;
/** Peak memory that is allowed: so much of the packed weights, the key-value cache, and the same program's peak with a model of 0.2 MB. */
const ALLOWED_WEIGHT_SHARE = 1.25;

/** What a process said of itself, and when its first token came. */
interface Start {
  readonly firstTokenMs: number;
  readonly importedMs: number;
  readonly loadedMs: number;
  readonly peakBytes: number;
  readonly processorSeconds: number;
  readonly kernel: string;
  readonly weightBytes?: number;
  readonly cacheBytes?: number;
}

interface StartArm {
  readonly name: string;
  readonly node: string;
  readonly script: string;
  readonly more: readonly string[];
}

interface Series {
  readonly model: ModelFile;
  readonly arm: StartArm;
  readonly warm: Start[];
  /** Empty where the page cache cannot be dropped. */
  readonly cold: Start[];
}

export async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string", default: "5" },
      model: { type: "string", multiple: true },
      help: { type: "boolean" },
    },
  });
  if (values.help) return console.log(USAGE);
  const machine = { ...describeMachine(), ...rivalVersions() };
  const paths = values.model ?? [(await pull("smollm2")).path, (await pull("gemma3-270m")).path];
  const models = await Promise.all(paths.map(modelFile));
  console.log(JSON.stringify({ machine, models }, undefined, 2));

  const arms = await allArms();
  const nodes = arms
    .filter(({ script }) => script === "halfbyte")
    .map(({ node }) => ({ node, bytes: baselineBytes(node) }));
  const series: Series[] = models.flatMap((model) => arms.map((arm) => ({ model, arm, warm: [], cold: [] })));
  for (let round = 0; round < Number(values.rounds); round++)
    for (const each of series) {
      if (dropPageCache()) each.cold.push(await start(each));
      else await start(each);
      each.warm.push(await start(each));
      const { model, arm, warm, cold } = each;
      const [warmMs, coldMs] = [warm, cold].map((starts) => starts.at(-1)?.firstTokenMs.toFixed(0));
      console.log(`round ${round + 1}, ${model.name}, ${arm.name}: first token ${warmMs} ms warm, ${coldMs} ms cold`);
    }
  const imports = { halfbyte: importMs("halfbyte", ".."), "node-llama-cpp": importMs("node-llama-cpp", "../rivals") };
  printTables(series, nodes, imports);
  console.log(`all figures: ${saveResults("start", { machine, models, series, nodes, imports })}`);
}

async function allArms(): Promise<StartArm[]> {
  const node = process.execPath;
  const ours = { script: "halfbyte", more: ["wasm"] };
  return [
    { ...ours, name: `halfbyte, Node ${process.versions.node.split(".")[0]}`, node },
    { ...ours, name: "halfbyte, Node 24", node: await nodeOfVersion(24) },
    { name: "node-llama-cpp, default", node, script: "node-llama-cpp", more: [] },
    { name: "node-llama-cpp, best", node, script: "node-llama-cpp", more: ["best"] },
  ];
}

function start({ model, arm }: Series): Promise<Start> {
  const began = performance.now();
  const child = spawn(arm.node, [scriptPath(arm.script), model.path, ...arm.more], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let firstTokenMs = 0;
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    firstTokenMs ||= performance.now() - began;
    output += text;
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve({ firstTokenMs, ...JSON.parse(output.trim().split("\n").at(-1)!) });
      else reject(new Error(`${arm.name} ended with ${code}`));
    });
  });
}

/** Makes the next process read its files from the disk; only root can. */
function dropPageCache(): boolean {
  const control = "/proc/sys/vm/drop_caches";
  if (!existsSync(control) || process.getuid?.() !== 0) return false;
  execFileSync("sync");
  writeFileSync(control, "3");
  return true;
}

/** Peak memory of the same program with a model of 0.2 MB: Node, its worker threads, the library. */
function baselineBytes(node: string): number {
  const model = fileURLToPath(new URL("../../test/golden/llama-q4_0.gguf", import.meta.url));
  const output = execFileSync(node, [scriptPath("halfbyte"), model, "wasm"], { encoding: "utf8" });
  return JSON.parse(output.trim().split("\n").at(-1)!).peakBytes;
}

function scriptPath(name: string): string {
  return fileURLToPath(new URL(`./${name}.mjs`, import.meta.url));
}

/** What an import takes, in fresh processes. */
function importMs(name: string, folder: string): Summary {
  const program = `const began = performance.now(); await import("${name}"); console.log(performance.now() - began)`;
  const cwd = fileURLToPath(new URL(folder, import.meta.url));
  const args = ["--input-type=module", "-e", program];
  return summarize(
    Array.from({ length: IMPORTS }, () => Number(execFileSync(process.execPath, args, { cwd, encoding: "utf8" }))),
  );
}

function printTables(
  series: readonly Series[],
  nodes: readonly { node: string; bytes: number }[],
  imports: Readonly<Record<string, Summary>>,
): void {
  const each = (starts: readonly Start[], value: (start: Start) => number, digits = 0): string =>
    starts.length ? shown(summarize(starts.map(value)), digits) : "not measured";
  const startRows = series.map(({ model, arm, warm, cold }) => [
    model.name,
    arm.name,
    warm[0]!.kernel,
    each(cold, ({ firstTokenMs }) => firstTokenMs),
    each(warm, ({ firstTokenMs }) => firstTokenMs),
    each(warm, ({ processorSeconds }) => processorSeconds, 2),
  ]);
  console.log("Process start to first token, cold (files read from disk) and warm; median (least–most).");
  console.log(table(["model", "arm", "kernel", "cold, ms", "warm, ms", "processor seconds"], startRows));

  const memoryRows = series.map(({ model, arm, warm }) => {
    const { weightBytes, cacheBytes = 0 } = warm[0]!;
    const node = nodes.find((known) => known.node === arm.node)!.bytes;
    const allowed = weightBytes === undefined ? undefined : ALLOWED_WEIGHT_SHARE * weightBytes + cacheBytes + node;
    const peak = summarize(warm.map(({ peakBytes }) => peakBytes));
    return [
      model.name,
      arm.name,
      shown({ median: peak.median / MB, min: peak.min / MB, max: peak.max / MB }, 0),
      weightBytes === undefined ? "" : (weightBytes / MB).toFixed(0),
      (cacheBytes / MB).toFixed(0),
      (node / MB).toFixed(0),
      allowed === undefined ? "" : `${(allowed / MB).toFixed(0)}, ${peak.max <= allowed ? "kept" : "not kept"}`,
    ];
  });
  console.log(
    "\nPeak resident memory, MB; allowed: 1.25 × packed weights + cache + the same program with a model of 0.2 MB.",
  );
  console.log(table(["model", "arm", "peak", "packed weights", "cache", "tiny model", "allowed"], memoryRows));
  for (const [name, summary] of Object.entries(imports)) console.log(`import "${name}": ${shown(summary)} ms`);
}
