import { loadModel } from "../../src/index.ts";
import { describeMachine } from "../machine.ts";
import { table } from "../report.ts";

const PROMPT_TOKENS = 4096;
const TOKENS_BEFORE = 60;

/**
 * How much a long prompt disturbs answers under way: `node bench/run.mjs bench/engine/stall.ts MODEL [streams=4]
 * [prompt=16,32,64,128]`, executor by HALFBYTE_EXECUTOR. Time between the tokens of running streams before and while a
 * prompt of 4,096 tokens is read, and the speed of reading it, by the prompt tokens of a shared step.
 */
export async function main(): Promise<void> {
  const [path = "smollm2", ...rest] = process.argv.slice(2);
  const options = new Map(rest.map((text) => text.split("=") as [string, string]));
  const streams = Number(options.get("streams") ?? 4);
  const machine = describeMachine();
  console.log(
    `${machine.processor}, load ${machine.loadAverage.toFixed(1)}, Node ${machine.node}, ${machine.halfbyte}`,
  );
  const rows: string[][] = [];
  for (const promptTokens of (options.get("prompt") ?? "16,32,64,128").split(",").map(Number)) {
    const model = await loadModel(path, { promptTokens, contextLength: 8192 });
    const abort = new AbortController();
    const gaps = { before: [] as number[], during: [] as number[] };
    let reading: "before" | "during" | "after" = "before";
    let alive = 0;
    const started = Array.from({ length: streams }, async (_, i) => {
      const answer = model.complete([1 + i, 50, 60], {
        ignoreEnd: true,
        signal: abort.signal,
        speculation: false,
        temperature: 1,
        seed: i,
      });
      let last: number | undefined;
      let count = 0;
      try {
        for await (const { tokens } of answer.events()) {
          const now = performance.now();
          if (last !== undefined && reading !== "after") gaps[reading].push((now - last) / tokens.length);
          last = now;
          if ((count += tokens.length) === TOKENS_BEFORE && ++alive === streams) enough();
        }
      } catch (error) {
        if (!abort.signal.aborted) throw error;
      }
    });
    let enough = (): void => {};
    await new Promise<void>((resolve) => (enough = resolve));
    reading = "during";
    const prompt = [...Array(PROMPT_TOKENS).keys()].map((i) => 1000 + ((i * 7919) % 40000));
    const { timings } = await model.complete(prompt, { maxTokens: 1, ignoreEnd: true }).result;
    reading = "after";
    abort.abort();
    await Promise.all(started);
    await model.dispose();
    const shown = (of: number[]): string[] => [50, 99].map((p) => percentile(of, p).toFixed(1));
    rows.push([
      String(promptTokens),
      ...shown(gaps.before),
      ...shown(gaps.during),
      timings.prefillTokensPerSecond.toFixed(0),
    ]);
  }
  const heads = [
    "prompt tokens a step",
    "ms between tokens, p50",
    "p99",
    "with the prompt, p50",
    "p99",
    "prompt tokens/s",
  ];
  console.log(table(heads, rows));
}

function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN;
}
