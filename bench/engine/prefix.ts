import { loadModel, type Model } from "../../src/index.ts";
import type { ChatMessage } from "../../src/text/chat-template.ts";
import { describeMachine } from "../machine.ts";
import { shown, summarize, table } from "../report.ts";

const TURNS = 20;
const REQUESTS = 16;
const PREFIX_TOKENS = 1000;
const ANSWER = { maxTokens: 48, ignoreEnd: true } as const;

/**
 * What the shared cache saves: `node bench/run.mjs bench/engine/prefix.ts MODEL`, executor by HALFBYTE_EXECUTOR. Prompt
 * tokens computed and time to the first token, of a chat of 20 turns and of 16 requests that begin with the same 1,000
 * tokens, with the cache and without.
 */
export async function main(): Promise<void> {
  const machine = describeMachine();
  console.log(
    `${machine.processor}, load ${machine.loadAverage.toFixed(1)}, Node ${machine.node}, ${machine.halfbyte}`,
  );
  const rows: string[][] = [];
  for (const [name, ask] of [
    [`chat of ${TURNS} turns`, chat],
    [`${REQUESTS} requests, ${PREFIX_TOKENS} tokens in common`, requests],
  ] as const) {
    const texts: string[] = [];
    const firsts: number[] = [];
    for (const cachePrompt of [false, true]) {
      const model = await loadModel(process.argv[2] ?? "smollm2");
      const outcome = await ask(model, cachePrompt);
      await model.dispose();
      // The first has nothing to reuse.
      const times = summarize(outcome.firstTokenMs.slice(1));
      firsts.push(times.median);
      texts.push(outcome.texts.join("\n"));
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

async function chat(model: Model, cachePrompt: boolean): Promise<Outcome> {
  const messages: ChatMessage[] = [];
  const outcome = { computed: 0, firstTokenMs: [] as number[], texts: [] as string[] };
  for (let turn = 0; turn < TURNS; turn++) {
    messages.push({ role: "user", content: `Question ${turn + 1}: what else should one know about rivers and lakes?` });
    const { text, usage, timings } = await model.chat(messages, { ...ANSWER, cachePrompt }).result;
    messages.push({ role: "assistant", content: text });
    outcome.computed += usage.promptTokens - usage.cachedTokens;
    outcome.firstTokenMs.push(timings.firstTokenMs);
    outcome.texts.push(text);
  }
  return outcome;
}

async function requests(model: Model, cachePrompt: boolean): Promise<Outcome> {
  const prefix = [...Array(PREFIX_TOKENS).keys()].map((i) => 1000 + ((i * 7919) % 40000));
  const outcome = { computed: 0, firstTokenMs: [] as number[], texts: [] as string[] };
  for (let i = 0; i < REQUESTS; i++) {
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
