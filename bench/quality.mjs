// Prints how near the real models come to the float truth: `npm run quality -- [--executor NAME] [--limit N] [MODEL …]`
//
// Teacher-forced over one window, the whole of a text of 1241 (SmolLM2) or 1152 (Gemma) tokens; key-value cache in f16.
// KL: mean Kullback-Leibler divergence from the truth over its 32 likeliest tokens and the rest as one, nats.
// Truth: the same GGUF weights in f32 through transformers 5.24; llama.cpp (node-llama-cpp 3.22.1, CPU) measured on it
// over the same text and tokens.

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { greedyContinuation } from "../dist/evaluate/greedy.js";
import { compareWithTruth } from "../dist/evaluate/quality.js";
import { readTruth } from "../dist/evaluate/read-truth.js";
import { selectExecutor } from "../dist/executors/select.js";
import { openGguf } from "../dist/formats/gguf/open-gguf.js";
import { openFileSource } from "../dist/formats/node-file-source.js";
import { resolveModel } from "../dist/hub/index.js";
import { openModel } from "../dist/models/open-model.js";

const MODELS = [
  {
    name: "smollm2",
    title: "SmolLM2-135M-Instruct Q4_1",
    alias: "smollm2",
    variable: "HALFBYTE_TEST_SMOLLM2",
    llamaCpp: { perplexity: 9.907, meanDivergence: 0.0034, topOneAgreement: 0.979 },
  },
  {
    name: "gemma3",
    title: "gemma-3-270m Q4_K_M",
    alias: "gemma3-270m",
    variable: "HALFBYTE_TEST_GEMMA",
    llamaCpp: { perplexity: 15.775, meanDivergence: 0.0059, topOneAgreement: 0.943 },
  },
];
const ROWS = 32;

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    executor: { type: "string" },
    limit: { type: "string" },
    modes: { type: "string", default: "a16,a8,a8-per-token" },
    json: { type: "boolean", default: false },
  },
});
const golden = (name) => fileURLToPath(new URL(`../test/golden/${name}`, import.meta.url));
const report = [];
for (const model of MODELS) {
  if (positionals.length > 0 && !positionals.includes(model.name)) continue;
  const given = process.env[model.variable];
  const path = given && given !== "fetch" ? given : await resolveModel(model.alias);
  if (path === undefined) console.log(`${model.title}: not in the cache, skipped (halfbyte pull ${model.alias})`);
  else await reportModel(model, path);
}
if (flags.json) console.log(JSON.stringify(report, undefined, 1));

async function reportModel({ name, title, llamaCpp }, path) {
  const truthSource = await openFileSource(golden(`truth-${name}.safetensors`));
  const truth = await readTruth(truthSource);
  await truthSource.close();
  const limit = flags.limit === undefined ? truth.ids.length : Number(flags.limit);
  const source = await openFileSource(path);
  const model = await openModel(await openGguf(source));
  const rows = [];
  for (const activations of flags.modes.split(",")) {
    const { executor, options } = await selectExecutor({ executor: flags.executor, environment: process.env });
    const plan = model.compile({ activations, maxRows: ROWS, maxLogitRows: ROWS });
    const runner = await executor.load(plan, model.weights, options);
    const started = performance.now();
    const quality = await compareWithTruth(runner, truth, { limit });
    const seconds = (performance.now() - started) / 1000;
    const greedy =
      activations === "a16" && limit === truth.ids.length ? await greedyAgreement(runner, name) : undefined;
    rows.push({ activations, executor: runner.executor, seconds, ...quality, greedy });
    await runner.dispose();
  }
  await source.close();
  report.push({ model: title, rows, llamaCpp });
  if (!flags.json) print(title, rows, llamaCpp);
}

/** Steps of the truth's greedy texts that come out the same before the first that does not, with the gap there. */
async function greedyAgreement(runner, name) {
  const cases = JSON.parse(await readFile(golden(`greedy-${name}.json`), "utf8"));
  const out = [];
  for (const { prompt_ids, ids, gap } of cases) {
    const got = await greedyContinuation(runner, prompt_ids, ids.length);
    const first = ids.findIndex((id, i) => id !== got[i]);
    out.push(first < 0 ? { same: ids.length } : { same: first, gap: gap[first] });
  }
  return out;
}

function print(title, rows, llamaCpp) {
  const [{ positions, truthPerplexity, executor }] = rows;
  console.log(`\n${title}: ${positions} tokens, ${executor.name} ${executor.kernel}, ${executor.threads} threads`);
  const line = (label, perplexity, change, divergence, max, agreement, seconds) =>
    console.log(
      label.padEnd(22) +
        [perplexity, change, divergence, max, agreement, seconds].map((cell) => String(cell).padStart(12)).join(""),
    );
  const percent = (x, digits) => `${(100 * x).toFixed(digits)} %`;
  line("", "perplexity", "change", "mean KL", "max KL", "top-1 same", "seconds");
  line("truth (f32)", truthPerplexity.toFixed(4), "", "", "", "", "");
  for (const row of rows) {
    const change = percent(row.perplexity / truthPerplexity - 1, 3);
    const divergence = row.meanDivergence.toExponential(2);
    const most = row.maxDivergence.toExponential(1);
    const agreement = percent(row.topOneAgreement, 2);
    line(row.activations, row.perplexity.toFixed(4), change, divergence, most, agreement, row.seconds.toFixed(1));
  }
  const { perplexity, meanDivergence, topOneAgreement } = llamaCpp;
  const change = percent(perplexity / truthPerplexity - 1, 3);
  line("llama.cpp (8-bit)", perplexity, change, meanDivergence.toExponential(2), "", percent(topOneAgreement, 1), "");
  for (const { activations, greedy } of rows) {
    if (!greedy) continue;
    const texts = greedy.map(({ same, gap }) => (gap === undefined ? `${same}` : `${same}, then a gap of ${gap}`));
    console.log(`greedy text in ${activations}, steps as the truth: ${texts.join("; ")}`);
  }
}
