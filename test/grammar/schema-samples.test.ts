import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compileConstraint } from "../../src/grammar/compile-constraint.ts";
import { loadModel, type Model } from "../../src/index.ts";
import { smollm2Path } from "../models.ts";
import { schemas } from "./schemas.ts";
import { validatorOf } from "./validator.ts";

/** Seconds of sampling for each model, by `npm run test:schemas`; without it a few short answers. */
const seconds = Number(process.env.HALFBYTE_SCHEMA_SECONDS ?? 0);
const TEMPERATURE = 1.5;
/** Answers under way together: the engine batches them. */
const TOGETHER = 16;
const smollm2 = await smollm2Path();

interface Tally {
  finished: number;
  cut: number;
  readonly wrong: string[];
}

/** Samples an answer to one schema; what finishes must be valid, and what is cut off must say so. */
async function sample(model: Model, index: number, round: number, maxTokens: number, tally: Tally): Promise<void> {
  const [name, schema] = schemas[index % schemas.length]!;
  const compiled = await compileConstraint({ type: "json_schema", schema }, model.tokenizer, {
    vocabularySize: model.info.vocabularySize,
    dropsFirstSpace: model.tokenizer.stripsLeadingSpace,
  });
  const options = { temperature: TEMPERATURE, seed: 1000 * round + index, maxTokens, constraint: compiled.start() };
  const { contextLength } = model.info;
  const prompt = `Give me an example of JSON for this schema: ${JSON.stringify(schema).slice(0, 400)}`;
  const answer =
    contextLength > 1000 ? model.chat([{ role: "user", content: prompt }], options) : model.complete([1], options);
  const { text, finishReason } = await answer.result;
  if (finishReason === "length") {
    tally.cut++;
    return;
  }
  tally.finished++;
  const problem = validatorOf(schema)(text);
  if (finishReason !== "stop" || problem !== undefined) tally.wrong.push(`${name}: ${problem}: ${text}`);
}

async function sampleAll(model: Model, indices: readonly number[], maxTokens: number): Promise<Tally> {
  const tally: Tally = { finished: 0, cut: 0, wrong: [] };
  const end = performance.now() + seconds * 1000;
  let round = 0;
  do {
    const left = [...indices];
    const worker = async (): Promise<void> => {
      for (let index = left.shift(); index !== undefined; index = left.shift())
        if (seconds === 0 || performance.now() < end) await sample(model, index, round, maxTokens, tally);
    };
    await Promise.all(Array.from({ length: TOGETHER }, worker));
    round++;
  } while (performance.now() < end);
  return tally;
}

const every = Array.from(schemas.keys());
const models = [
  { name: "a tiny model", input: fileURLToPath(new URL("../golden/llama-q4_0.gguf", import.meta.url)), indices: every, maxTokens: 100, least: 60 },
  { name: `SmolLM2${smollm2 ? "" : " (not on this machine)"}`, input: smollm2, indices: seconds > 0 ? every : every.filter((i) => i % 23 === 6), maxTokens: seconds > 0 ? 300 : 60, least: 3 },
]; // biome-ignore format: a table

describe.each(models)("$name at temperature 1.5", ({ input, indices, maxTokens, least }) => {
  let model: Model;
  beforeAll(async () => {
    if (input) model = await loadModel(new Blob([await readFile(input)]));
  }, 120_000);
  afterAll(() => model?.dispose());

  it.skipIf(!input)(
    "finishes with what Ajv finds valid, or says that it was cut",
    {
      timeout: 300_000 + seconds * 3000,
    },
    async () => {
      const tally = await sampleAll(model, indices, maxTokens);
      console.log(`${tally.finished} answers finished, ${tally.cut} were cut at their limit`);
      expect(tally.wrong).toEqual([]);
      expect(tally.finished).toBeGreaterThanOrEqual(least);
    },
  );
});
