import { loadModel, type Model } from "../../src/index.ts";
import type { ChatMessage } from "../../src/text/chat-template.ts";
import { describeMachine } from "../machine.ts";
import { shown, summarize, table } from "../report.ts";

const PREFIX_TOKENS = 1000;
const ANSWER = { maxTokens: 48, ignoreEnd: true } as const;

/**
 * What the shared cache saves: `node bench/run.mjs bench/engine/prefix.ts MODEL [turns=20] [requests=16]`, executor by
 * HALFBYTE_EXECUTOR. Prompt
 * tokens computed and time to the first token, of a chat of 20 turns and of 16 requests that begin with the same 1,000
 * tokens, with the cache and without.
 */
export async function main(): Promise<void> {
  const [path = "smollm2", ...rest] = process.argv.slice(2);
  const options = new Map(rest.map((text) => text.split("=") as [string, string]));
  const turns = Number(options.get("turns") ?? 20);
  const requests = Number(options.get("requests") ?? 16);
  const machine = describeMachine();
  console.log(
    `${machine.processor}, load ${machine.loadAverage.toFixed(1)}, Node ${machine.node}, ${machine.halfbyte}`,
  );
  const rows: string[][] = [];
  for (const [name, ask, count] of [
    [`chat of ${turns} turns`, chat, turns],
    [`${requests} requests, ${PREFIX_TOKENS} tokens in common`, askAll, requests],
  ] as const) {
    if (count < 2) continue;
    const texts: string[] = [];
    const firsts: number[] = [];
    for (const cachePrompt of [false, true]) {
      const model = await loadModel(path);
      const outcome = await ask(model, count, cachePrompt);
      await model.dispose();
      // The first has nothing to reuse.
      const times = summarize(outcome.firstTokenMs.slice(1));
      firsts.push(times.median);
      texts.push(outcome.texts.join("\n"));
      console.log(`${name}: ${outcome.computed} prompt tokens computed`);
      rows.push([name, cachePrompt ? "with" : "without", String(outcome.computed), shown(times)]);
    }
    rows.push([name, "ratio", "", `${(firsts[0]! / firsts[1]!).toFixed(1)} ×`]);
    if (texts[0] !== texts[1]) throw new Error("the answers differ");
  }
  console.log(table(["work", "cache", "prompt tokens computed", "ms to the first token, median (range)"], rows));
}

interface Outcome {
  readonly computed: number;
  readonly firstTokenMs: number[];
  readonly texts: string[];
}

async function chat(model: Model, count: number, cachePrompt: boolean): Promise<Outcome> {
  const messages: ChatMessage[] = [];
  const outcome = { computed: 0, firstTokenMs: [] as number[], texts: [] as string[] };
  for (let turn = 0; turn < count; turn++) {
    messages.push({ role: "user", content: `Question ${turn + 1}: what else should one know about rivers and lakes?` });
    const { text, usage, timings } = await model.chat(messages, { ...ANSWER, cachePrompt }).result;
    messages.push({ role: "assistant", content: text });
    outcome.computed += usage.promptTokens - usage.cachedTokens;
    outcome.firstTokenMs.push(timings.firstTokenMs);
    outcome.texts.push(text);
  }
  return outcome;
}

async function askAll(model: Model, count: number, cachePrompt: boolean): Promise<Outcome> {
  const prefix = [...Array(PREFIX_TOKENS).keys()].map((i) => 1000 + ((i * 7919) % 40000));
  const outcome = { computed: 0, firstTokenMs: [] as number[], texts: [] as string[] };
  for (let i = 0; i < count; i++) {
    const question = model.tokenizer.encode(` Request ${i}: say something.`);
    const { text, usage, timings } = await model.complete([...prefix, ...question], {
      ...ANSWER,
      maxTokens: 4,
      cachePrompt,
    }).result;
    outcome.computed += usage.promptTokens - usage.cachedTokens;
    outcome.firstTokenMs.push(timings.firstTokenMs);
    outcome.texts.push(text);
  }
  return outcome;
}
