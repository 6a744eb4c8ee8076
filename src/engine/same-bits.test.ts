import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { Random } from "../../test/random-plan.ts";
import { nativeExecutor } from "../executors/native/native-executor.ts";
import { type GenerateOptions, type GenerationResult, type LoadModelOptions, loadModel, type Model } from "../index.ts";

const files = await Promise.all(
  ["llama-q4_0", "gemma3-q4_0"].map((name) => readFile(new URL(`../../test/golden/${name}.gguf`, import.meta.url))),
);
const native = await nativeExecutor.unavailable();
const executors = ["reference", "wasm", ...(native === undefined ? ["native"] : [])];
const REQUESTS = 64;

interface Request {
  readonly prompt: readonly number[];
  readonly options: GenerateOptions;
}

/** Greedy and sampled, with penalties and without, long and short, of few stems, some saying themselves again. */
function requests(vocabulary: number): Request[] {
  const random = new Random(11);
  const words = (length: number): number[] => Array.from({ length }, () => random.below(vocabulary));
  const stems = [words(50), words(37), [...words(12), ...words(12)]];
  return Array.from({ length: REQUESTS }, (_, i) => {
    const stem = random.pick(stems);
    return {
      prompt: [
        ...stem.slice(0, 1 + random.below(stem.length)),
        ...(i % 3 ? words(random.below(20)) : stem.slice(0, 20)),
      ],
      options: {
        maxTokens: 1 + random.below(24),
        ignoreEnd: true,
        temperature: i % 2 ? 0 : 0.3 + random.below(20) / 10,
        seed: i,
        logprobs: 2,
        user: random.pick(["", "a", "b"]),
        ...(i % 3 === 0 && { repetitionPenalty: 1.3, frequencyPenalty: 0.5, presencePenalty: -0.5 }),
        ...(i % 5 === 0 && { topK: 20, topP: 0.9, minP: 0.01 }),
        ...(i % 7 === 0 && { promptLogprobs: 1 }),
        ...(i % 11 === 0 && { stop: "e" }),
      },
    };
  });
}

/** What must not change: all but times and where tokens came from. */
function bits({ text, finishReason, tokens, promptTokens, seed }: GenerationResult): unknown {
  return { text, finishReason, tokens, promptTokens, seed };
}

async function together(model: Model, all: readonly Request[], options: GenerateOptions): Promise<unknown[]> {
  const running = all.map(({ prompt, options: own }) => model.complete(prompt, { ...own, ...options }));
  return (await Promise.all(running.map(({ result }) => result))).map(bits);
}

describe.each(files.map((file, i) => [["llama", "gemma3"][i]!, file] as const))("%s", (name, file) => {
  let truth: Promise<unknown[]> | undefined;
  const load = (options: LoadModelOptions): Promise<Model> => loadModel(new Blob([file]), options);

  /** One after another, without cache or guesses, in steps of one size; on the fastest executor that is always there. */
  async function alone(): Promise<unknown[]> {
    const model = await load({ executor: "wasm", maxSequences: 1 });
    const answers: unknown[] = [];
    for (const { prompt, options } of requests(model.info.vocabularySize))
      answers.push(bits(await model.complete(prompt, { ...options, cachePrompt: false, speculation: false }).result));
    await model.dispose();
    return answers;
  }

  // The slowest need not do everything twice.
  it.each(name === "llama" ? executors : executors.slice(1))(
    "gives 64 requests the same text and log-probabilities alone and in any company, %s",
    async (executor) => {
      truth ??= alone();
      const settings: [LoadModelOptions, GenerateOptions][] = [
        [{}, {}],
        [{ maxSequences: 32, stepTokens: 48, contextLength: 128, cacheTokens: 400 }, { speculation: false }],
        [{ maxSequences: 5, stepTokens: 9 }, { cachePrompt: false }],
      ];
      for (const [loading, options] of executor === "reference" ? settings.slice(1, 2) : settings) {
        const model = await load({ executor, ...loading });
        const draft = await load({ executor });
        const all = requests(model.info.vocabularySize);
        const answers = await together(model, all, options);
        if (loading.cacheTokens) expect(model.stats.preemptions).toBeGreaterThan(0);
        if (executor !== "reference") {
          const again = await together(model, all.toReversed(), { ...options, speculation: { draft } });
          expect(again.toReversed()).toEqual(answers);
        }
        expect(model.stats).toMatchObject({ running: 0, waiting: 0, blocksInUse: 0 });
        if (executor !== "reference") expect(model.stats.acceptedDraftTokens).toBeGreaterThan(0);
        expect(draft.stats.blocksInUse).toBe(0);
        await Promise.all([model.dispose(), draft.dispose()]);
        expect(answers).toEqual(await truth);
      }
    },
  );
});
