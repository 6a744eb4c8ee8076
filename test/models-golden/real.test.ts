import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { greedyContinuation } from "../../src/evaluate/greedy.ts";
import { compareWithTruth, type Quality } from "../../src/evaluate/quality.ts";
import { readTruth } from "../../src/evaluate/read-truth.ts";
import type { PlanRunner } from "../../src/executors/executor.ts";
import { selectExecutor } from "../../src/executors/select.ts";
import { openGguf } from "../../src/formats/gguf/open-gguf.ts";
import { memorySource } from "../../src/formats/memory-source.ts";
import { openFileSource } from "../../src/formats/node-file-source.ts";
import { openModel } from "../../src/models/open-model.ts";
import type { ActivationMode } from "../../src/plan/plan.ts";
import { gemmaPath, smollm2Path } from "../models.ts";

/** The bounds the whole text is held to: A16 is to be indistinguishable from the truth. */
const A16_DIVERGENCE = 1e-4;
const A16_PERPLEXITY = 2e-4;
const A16_AGREEMENT = 0.995;

/** A16 moves a logit by some thousandths; a step whose two best are nearer than this may go either way. */
const SMALLEST_GAP = 0.01;

/** The start of the text alone: `npm run quality` takes minutes over the whole. */
const models = [
  { name: "smollm2", path: await smollm2Path(), tokens: 256, llamaCppDivergence: 0.0034 },
  { name: "gemma3", path: await gemmaPath(), tokens: 128, llamaCppDivergence: 0.0059 },
];

describe.each(models)("$name over the first $tokens tokens", ({ name, path, tokens, llamaCppDivergence }) => {
  const measure = (activations: ActivationMode): Promise<Quality> =>
    withRunner(path!, activations, async (runner) => {
      const truth = await readTruth(memorySource(await readFile(golden(`truth-${name}.safetensors`))));
      return compareWithTruth(runner, truth, { limit: tokens });
    });
  const options = { skip: path === undefined, timeout: 300_000 };

  it("cannot be told from the float truth in A16", options, async () => {
    const quality = await measure("a16");
    expect(quality.meanDivergence).toBeLessThan(A16_DIVERGENCE);
    expect(Math.abs(quality.perplexity / quality.truthPerplexity - 1)).toBeLessThan(A16_PERPLEXITY);
    expect(quality.topOneAgreement).toBeGreaterThanOrEqual(A16_AGREEMENT);
  });

  it("is nearer to it in A8 than llama.cpp's 8 bits are", options, async () => {
    expect((await measure("a8")).meanDivergence).toBeLessThan(llamaCppDivergence);
  });

  it("continues prompts as the truth does in A16", options, async () => {
    const cases: { prompt_ids: number[]; ids: number[]; gap: number[] }[] = JSON.parse(
      await readFile(golden(`greedy-${name}.json`), "utf8"),
    );
    await withRunner(path!, "a16", async (runner) => {
      for (const { prompt_ids, ids, gap } of cases.slice(0, 3)) {
        const close = gap.findIndex((each) => each < SMALLEST_GAP);
        const count = close < 0 ? ids.length : close;
        expect(await greedyContinuation(runner, prompt_ids, count)).toEqual(ids.slice(0, count));
      }
    });
  });
});

function golden(file: string): string {
  return fileURLToPath(new URL(`../golden/${file}`, import.meta.url));
}

async function withRunner<T>(
  path: string,
  activations: ActivationMode,
  use: (runner: PlanRunner) => Promise<T>,
): Promise<T> {
  const source = await openFileSource(path);
  try {
    const model = await openModel(await openGguf(source));
    const { executor, options } = await selectExecutor({ environment: process.env });
    const plan = model.compile({ activations, maxRows: 32, maxLogitRows: 32 });
    const runner = await executor.load(plan, model.weights, options);
    try {
      return await use(runner);
    } finally {
      await runner.dispose();
    }
  } finally {
    await source.close();
  }
}
