// `npm run bench:steps`: steps of Halfbyte's native executor and of llama.cpp in turns. See docs/benchmarks.md.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { pull } from "../../src/hub/index.ts";
import { nativeReadCeiling } from "../e2e/read-ceiling.ts";
import { describeMachine, rivalVersions } from "../machine.ts";
import { pairRatios, saveResults, shown, summarize, table } from "../report.ts";
import type { ArmOptions, StepArm } from "./arm.d.ts";

const USAGE = `npm run bench:steps -- [MODEL.gguf …] [--against MODEL.gguf] [--threads 2] [--rounds 7] [--decode 0,1024,4096]
  [--prefill 512,4096] [--batch 1,2,4,8,16,32,64]
Without a model: SmolLM2 and Gemma 3 270M, which are pulled. --against: the file that llama.cpp gets, where ours is in a
form that it cannot read.`;

/** Steps of one decode figure: single steps are too short to be told from the machine's noise. */
const STEPS = 16;

interface Work {
  readonly title: string;
  readonly tokens: number;
  /** Steps that read all weights once each, for bytes per second. */
  readonly steps: number;
  readonly prepare: (arm: StepArm) => Promise<unknown>;
  readonly measure: (arm: StepArm) => Promise<number>;
}

export async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      against: { type: "string" },
      threads: { type: "string", default: "2" },
      rounds: { type: "string", default: "7" },
      decode: { type: "string", default: "0,1024,4096" },
      prefill: { type: "string", default: "512,4096" },
      batch: { type: "string", default: "1,2,4,8,16,32,64" },
      help: { type: "boolean" },
    },
  });
  if (values.help) return console.log(USAGE);
  const rivals = rivalVersions();
  const machine = { ...describeMachine(), ...rivals };
  const ceiling = nativeReadCeiling();
  console.log(JSON.stringify({ machine, ceiling }));
  const list = (text: string): number[] => text.split(",").filter(Boolean).map(Number);
  const [threads, rounds] = [Number(values.threads), Number(values.rounds)];
  const models =
    positionals.length > 0 ? positionals : [(await pull("smollm2")).path, (await pull("gemma3-270m")).path];
  for (const model of models) {
    const rival = values.against ?? model;
    const contexts = list(values.decode);
    const prompts = list(values.prefill);
    const longest = Math.max(...contexts, ...prompts, 0) + STEPS * (rounds + 1) + 16;
    const one = [
      ...contexts.map((context) => decodeWork(1, context, `decode at ${context}`)),
      ...prompts.map((length) => prefillWork(length)),
    ];
    await contest(model, rival, { threads, sequences: 1, context: longest }, one, rounds, ceiling);
    const batches = list(values.batch);
    if (batches.length === 0) continue;
    const many = batches.map((batch) => decodeWork(batch, 64, `${batch} sequences at 64`));
    const context = 64 + STEPS * (rounds + 1) + 16;
    await contest(model, rival, { threads, sequences: Math.max(...batches), context }, many, rounds, ceiling);
  }
}

function decodeWork(sequences: number, context: number, title: string): Work {
  return {
    title,
    tokens: sequences * STEPS,
    steps: STEPS,
    prepare: (arm) => arm.fill(sequences, context),
    async measure(arm) {
      let ms = 0;
      for (let i = 0; i < STEPS; i++) ms += await arm.decode();
      return ms;
    },
  };
}

function prefillWork(length: number): Work {
  return {
    title: `prefill of ${length}`,
    tokens: length,
    steps: Number.NaN,
    prepare: async () => undefined,
    measure: (arm) => arm.prefill(length),
  };
}

async function contest(
  ours: string,
  theirs: string,
  options: Omit<ArmOptions, "model">,
  works: readonly Work[],
  rounds: number,
  ceiling: ReturnType<typeof nativeReadCeiling>,
): Promise<void> {
  const halfbyte = await openArm("halfbyte", { ...options, model: ours });
  const llama = await openArm("llama", { ...options, model: theirs });
  console.log(`\n${basename(ours)}: ${halfbyte.description}, against ${llama.description}\n`);
  const results = [];
  for (const work of works) {
    const times: [number[], number[]] = [[], []];
    for (const arm of [halfbyte, llama]) {
      await work.prepare(arm);
      await work.measure(arm);
    }
    for (let round = 0; round < rounds; round++)
      for (const [i, arm] of [halfbyte, llama].entries()) times[i]!.push(await work.measure(arm));
    results.push({ title: work.title, tokens: work.tokens, steps: work.steps, halfbyte: times[0], llama: times[1] });
  }
  await Promise.all([halfbyte.close(), llama.close()]);
  const best = options.threads === 1 ? ceiling?.one : ceiling?.two;
  const rows = results.map(({ title, tokens, steps, halfbyte: own, llama: other }) => {
    const rate = (ms: readonly number[]): string => shown(summarize(ms.map((time) => (1000 * tokens) / time)));
    const gigabytes = ((halfbyte.weightBytes ?? Number.NaN) * steps) / summarize(own).median / 1e6;
    const percent = best === undefined ? "" : ` (${((100e9 * gigabytes) / best).toFixed(0)} %)`;
    const share = Number.isNaN(steps) ? "" : gigabytes.toFixed(1) + percent;
    return [title, rate(own), rate(other), shown(pairRatios(other, own), 2), share];
  });
  console.log(
    table(["work", "Halfbyte, tokens/s", "llama.cpp, tokens/s", "ratio", "GB/s of weights (of ceiling)"], rows),
  );
  console.log(
    `all figures: ${saveResults("steps", { machine: describeMachine(), ours, theirs, options, ceiling, results })}`,
  );
}

async function openArm(name: string, options: ArmOptions): Promise<StepArm> {
  const child = fork(fileURLToPath(new URL("./child.mjs", import.meta.url)), [name, JSON.stringify(options)]);
  const facts = (await answer(child)) as Pick<StepArm, "description" | "weightBytes">;
  const call = async (name: string, ...args: unknown[]): Promise<unknown> => {
    child.send({ call: name, args });
    return answer(child);
  };
  return {
    ...facts,
    prefill: (tokens) => call("prefill", tokens) as Promise<number>,
    fill: (sequences, context) => call("fill", sequences, context) as Promise<void>,
    decode: () => call("decode") as Promise<number>,
    close: () => call("close") as Promise<void>,
  };
}

async function answer(child: ChildProcess): Promise<unknown> {
  const settled = new AbortController();
  const { signal } = settled;
  const ended = once(child, "exit", { signal }).then(([code]) => {
    throw new Error(`an arm ended with code ${code}`);
  });
  try {
    const [message] = (await Promise.race([once(child, "message", { signal }), ended])) as [
      { result?: unknown; error?: string },
    ];
    if (message.error) throw new Error(message.error);
    return message.result;
  } finally {
    settled.abort();
    ended.catch(() => undefined);
  }
}
