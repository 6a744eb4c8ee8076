import { type GenerateOptions, loadModel, type Model } from "../../src/index.ts";
import { describeMachine } from "../machine.ts";
import { table } from "../report.ts";

const CODE = `class Counter {
  constructor(start) {
    this.value = start;
  }
  increment(step) {
    this.value = this.value + step;
    return this.value;
  }
  decrement(step) {
    this.value = this.value - step;
    return this.value;
  }
  reset() {
    this.value = 0;
    return this.value;
  }
}`;
const PASSAGE = `The river Elbe rises in the Krkonoše Mountains at an elevation of about 1,400 metres. It crosses Bohemia, then \
Germany, and flows into the North Sea at Cuxhaven, 110 kilometres northwest of Hamburg. Its total length is 1,094 kilometres. \
The most important tributaries of the Elbe are the rivers Vltava, Ohře, Schwarze Elster, Mulde, Saale, Havel, and Elde.`;

/** What repeats its prompt, and what does not. */
const PROMPTS: readonly { readonly kind: "repeats" | "others"; readonly name: string; readonly text: string }[] = [
  {
    kind: "repeats",
    name: "code, renamed class",
    text: `Rename the class Counter to Tally. Write the whole code again:\n\n${CODE}`,
  },
  {
    kind: "repeats",
    name: "code, one method more",
    text: `Add a method double() to this code and write all of it again:\n\n${CODE}`,
  },
  { kind: "repeats", name: "quote of a passage", text: `Repeat this text word for word:\n\n${PASSAGE}` },
  {
    kind: "repeats",
    name: "list out of a passage",
    text: `Quote the sentences of this text, one on each line:\n\n${PASSAGE}`,
  },
  { kind: "others", name: "story", text: "Write a story about a fox who learns to sail." },
  { kind: "others", name: "explanation", text: "Explain how a bicycle stays upright." },
  { kind: "others", name: "advice", text: "How should I prepare for a long walk in the mountains?" },
  { kind: "others", name: "poem", text: "Write a poem about the first snow of the year." },
];

/**
 * What guessing ahead gains: `node bench/run.mjs bench/engine/speculation.ts MODEL [rounds=3] [tokens=160] [temperature=0]`,
 * executor by HALFBYTE_EXECUTOR. Decode speed with prompt look-up and without, in turns; the answers are compared.
 */
export async function main(): Promise<void> {
  const [path = "smollm2", ...rest] = process.argv.slice(2);
  const options = new Map(rest.map((text) => text.split("=") as [string, string]));
  const rounds = Number(options.get("rounds") ?? 3);
  const settings = {
    maxTokens: Number(options.get("tokens") ?? 160),
    seed: 5,
    temperature: Number(options.get("temperature") ?? 0),
  };
  const machine = describeMachine();
  console.log(
    `${machine.processor}, load ${machine.loadAverage.toFixed(1)}, Node ${machine.node}, ${machine.halfbyte}`,
  );
  const model = await loadModel(path, { contextLength: 2048 });
  const rows: string[][] = [];
  for (const { kind, name, text } of PROMPTS) {
    const plain: number[] = [];
    const guessed: number[] = [];
    let share = "";
    let tokens = 0;
    for (let round = 0; round < rounds; round++) {
      const off = await speed(model, text, { ...settings, speculation: false });
      const on = await speed(model, text, settings);
      if (off.text !== on.text) throw new Error(`${name}: the answers differ`);
      plain.push(off.tokensPerSecond);
      guessed.push(on.tokensPerSecond);
      share = on.share;
      tokens = on.tokens;
    }
    const ratio = median(guessed.map((value, i) => value / plain[i]!));
    rows.push([
      kind,
      name,
      String(tokens),
      median(plain).toFixed(1),
      median(guessed).toFixed(1),
      `${ratio.toFixed(2)} ×`,
      share,
    ]);
  }
  await model.dispose();
  console.log(table(["prompt", "", "tokens", "tokens/s without", "with", "ratio, median", "guesses right"], rows));
}

async function speed(
  model: Model,
  text: string,
  options: GenerateOptions,
): Promise<{ text: string; tokens: number; tokensPerSecond: number; share: string }> {
  const result = await model.chat([{ role: "user", content: text }], options).result;
  const { proposedTokens, acceptedTokens } = result.speculation;
  return {
    text: result.text,
    tokens: result.usage.completionTokens,
    tokensPerSecond: result.timings.decodeTokensPerSecond,
    share: `${acceptedTokens} of ${proposedTokens}`,
  };
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}
