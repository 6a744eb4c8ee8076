// What each way to 4 bits loses: `npm run quality:methods -- [--work DIR] [--methods rtn,…] [--groups 64,…] [--tokens N] [SUBJECT …]`
//
// Each subject is a model taken as floats, the reference; `halfbyte quantize` makes 4-bit models of it by each method and
// group size, llama.cpp's own quantiser makes others (out of npm's node-llama-cpp, in bench/rivals; needs python3), and all
// are measured beside the reference over the text that comes with `halfbyte evaluate`. Embedding and output matrix are
// left as they are, by llama.cpp in Q8_0, which is what they are. Bits are those of the layers in the file.
//
// docs/quality.md has what came out. What is made stays in the work folder and is not made again.

import { execFileSync } from "node:child_process";
import { copyFile, mkdir, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { evaluate } from "../dist/evaluate/index.js";
import { qualityPicture } from "../dist/evaluate/quality-picture.js";
import { resolveModel } from "../dist/hub/index.js";
import { LAYER_MATRIX, readFloatGguf } from "./quality-methods/float-gguf.mjs";
import { takeOffGrid } from "./quality-methods/off-grid.mjs";

const SUBJECTS = [
  {
    name: "smollm2",
    title: "SmolLM2 135M Instruct, dequantised from Q4_1",
    alias: "smollm2",
    variable: "HALFBYTE_TEST_SMOLLM2",
    groups: [32, 64, 96],
  },
  {
    name: "smollm2-off-grid",
    title: "SmolLM2 135M Instruct, off its grid",
    alias: "smollm2",
    variable: "HALFBYTE_TEST_SMOLLM2",
    offGrid: true,
    groups: [32, 64, 96],
  },
  {
    name: "gemma3",
    title: "Gemma 3 270M, dequantised from Q4_K_M",
    alias: "gemma3-270m",
    variable: "HALFBYTE_TEST_GEMMA",
    groups: [32, 64, 128],
  },
  {
    name: "tiny-llama",
    title: "A tiny llama of random bf16 weights",
    // Beside the project, where it is there.
    folder: "../../shared/golden-models/tiny/llama",
    groups: [32],
  },
];
const LLAMA_TYPES = ["q4_0", "q4_1", "q4_k_s", "q4_k_m"];
/** Q4_K of all matrices, its blocks over the ends of rows; the file has floats, so its bits are said here. */
const STRADDLING = { type: "q4_k", label: "Q4_K over row ends", bits: 4.5 };

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    work: { type: "string", default: join(tmpdir(), "halfbyte-quality-methods") },
    methods: { type: "string", default: "rtn,search,awq,gptq" },
    groups: { type: "string" },
    libraries: { type: "string" },
    tokens: { type: "string" },
    json: { type: "string" },
    pictures: { type: "string" },
  },
});
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const run = (command, args, input) =>
  execFileSync(command, args, { stdio: ["pipe", "ignore", "pipe"], maxBuffer: 1 << 26, ...(input && { input }) });
await mkdir(flags.work, { recursive: true });
const libraries = flags.libraries ?? (await llamaLibraries());
if (!libraries) console.log("no llama.cpp: npm ci --prefix bench/rivals fetches it");

const report = [];
for (const subject of SUBJECTS) {
  if (positionals.length > 0 && !positionals.includes(subject.name)) continue;
  const original = await originalOf(subject);
  if (original === undefined) console.log(`${subject.title}: not on this machine`);
  else report.push(await measureSubject(subject, original));
}
if (flags.json)
  await writeFile(flags.json, `${JSON.stringify({ machine: cpus()[0].model, subjects: report }, undefined, 1)}\n`);

async function originalOf({ variable, alias, folder }) {
  if (folder)
    return stat(here(folder)).then(
      () => here(folder),
      () => undefined,
    );
  const given = process.env[variable];
  return given && given !== "fetch" ? given : resolveModel(alias);
}

async function measureSubject(subject, original) {
  const folder = join(flags.work, subject.name);
  await mkdir(folder, { recursive: true });
  const reference = await referenceOf(subject, original, folder);
  const rivals = libraries && !subject.folder ? llamaVariants(reference, folder) : [];
  const variants = [...ours(subject, reference, folder), ...rivals];
  const made = [];
  for (const variant of variants) {
    try {
      const started = performance.now();
      const isNew = await once(variant.path, variant.make);
      made.push({ ...variant, seconds: isNew ? (performance.now() - started) / 1000 : undefined });
    } catch (error) {
      const said = String(error.stderr ?? error.message)
        .trim()
        .split("\n")
        .at(-1);
      console.log(`${variant.label}: left out: ${said}`);
    }
  }
  const started = performance.now();
  const measured = await evaluate(
    made.map(({ path }) => path),
    { against: reference, ...(flags.tokens && { tokens: Number(flags.tokens) }) },
  );
  const rows = measured.models.map((model, i) => {
    const { label, series, bits = model.file.layerBitsPerWeight, seconds } = made[i];
    const { divergence, lossIncrease, topOne, topFive } = model.comparison;
    return { label, series, bits, seconds, perplexity: model.perplexity, lossIncrease, divergence, topOne, topFive };
  });
  const { perplexity, executor } = measured.reference;
  const { predictions, window, stride } = measured;
  const seconds = (performance.now() - started) / 1000;
  const result = { subject: subject.title, predictions, window, stride, executor, perplexity, rows, seconds };
  print(result);
  if (flags.pictures) await writePicture(subject, result);
  return result;
}

/** A file or folder is made beside its place and renamed, so that what is there is whole. True where it was made now. */
async function once(path, make) {
  if (await stat(path).catch(() => undefined)) return false;
  const extension = path.endsWith(".gguf") ? ".gguf" : "";
  const partial = `${path}.partial${extension}`;
  await rm(partial, { recursive: true, force: true });
  await make(partial);
  await rename(partial, path);
  return true;
}

async function referenceOf({ offGrid, folder: isFolder }, original, folder) {
  if (!libraries || isFolder) {
    if (offGrid) throw new Error("floats to take off the grid are made by llama.cpp");
    return original;
  }
  const floats = join(folder, "reference.gguf");
  await once(floats, async (path) => {
    llamaQuantize(original, path, "f32");
    if (offGrid) await takeOffGrid(path);
  });
  return floats;
}

function ours({ groups }, reference, folder) {
  const wanted = flags.groups?.split(",").map(Number) ?? groups;
  return flags.methods.split(",").flatMap((method) =>
    wanted.map((group) => ({
      label: `${method} ${group}`,
      series: method,
      path: join(folder, `${method}-${group}`),
      make: (path) =>
        run(process.execPath, [
          ...[here("../dist/cli/main.js"), "quantize", reference, path, "--quiet"],
          ...["--to", "cpu_int4", "--method", method, "--group", String(group), "--embedding", "keep"],
        ]),
    })),
  );
}

function llamaVariants(reference, folder) {
  const types = LLAMA_TYPES.map((type) => ({
    label: `llama.cpp ${type.toUpperCase()}`,
    series: "llama.cpp",
    path: join(folder, `llama-${type}.gguf`),
    make: (path) => llamaQuantize(reference, path, type),
  }));
  const { type, label, bits } = STRADDLING;
  const straddling = {
    label,
    series: "llama.cpp",
    bits,
    path: join(folder, `straddling-${type}.gguf`),
    async make(path) {
      await copyFile(reference, path);
      const { tensors } = await readFloatGguf(path);
      const matrices = [...tensors].filter(([name]) => LAYER_MATRIX.test(name));
      const ranges = matrices.map(([, { offset, N, K }]) => `${offset} ${N * K}`).join("\n");
      run("python3", [here("quality-methods/ggml-round-trip.py"), libraries, path, type], ranges);
    },
  };
  return [...types, straddling];
}

function llamaQuantize(from, to, type) {
  run("python3", [here("quality-methods/llama-quantize.py"), libraries, from, to, type]);
}

/** Where node-llama-cpp has the libraries for this machine. */
async function llamaLibraries() {
  const folder = here("rivals/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64");
  const files = await readdir(folder).catch(() => []);
  return files.includes("libggml-base.so") ? folder : undefined;
}

function print({ subject, predictions, window, stride, executor, perplexity, rows, seconds }) {
  console.log(
    `\n${subject}\n${predictions} predictions, windows of ${window}, each ${stride} further; activations a16; ` +
      `${executor.name} ${executor.kernel}, ${executor.threads} threads; measured in ${seconds.toFixed(0)} s\n`,
  );
  const percent = (x) => `${(100 * x).toFixed(1)} %`;
  const plusMinus = ({ mean, standardError }, format) => `${format(mean)} ± ${format(standardError)}`;
  console.log("| | bits | perplexity | change | KL divergence | top-1 same | made in |\n|---|---|---|---|---|---|---|");
  console.log(`| reference | | ${perplexity.mean.toFixed(2)} | | | | |`);
  for (const { label, bits, perplexity, lossIncrease, divergence, topOne, seconds } of rows) {
    const cells = [
      label,
      bits.toFixed(2),
      perplexity.mean.toFixed(2),
      percent(Math.expm1(lossIncrease.mean)),
      plusMinus(divergence, (x) => x.toPrecision(2)),
      plusMinus(topOne, percent),
      seconds === undefined ? "" : `${seconds.toFixed(0)} s`,
    ];
    console.log(`| ${cells.join(" | ")} |`);
  }
}

async function writePicture({ name }, { subject, predictions, rows }) {
  const points = rows.map(({ label, series, bits, divergence }) => ({
    label,
    series,
    size: bits,
    divergence: divergence.mean,
    standardError: divergence.standardError,
  }));
  const text = {
    title: subject,
    note: `${predictions} predictions, 16-bit activations, embedding left alone; whiskers are one standard error`,
    sizeAxis: "bits per weight of the layers",
  };
  await writeFile(join(flags.pictures, `quality-${name}.svg`), qualityPicture(points, text));
}
