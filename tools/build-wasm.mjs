// Builds what `tsc` does not: the kernels in wasm/ (the executor's in four variants, and the quantiser's), and the thread
// program as a plain JavaScript file that workers can load beside the TypeScript sources. Does nothing for outputs newer
// than their inputs.
// `--dist` puts copies beside the compiled package.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const outFolder = join(root, "src/executors/wasm/build");
const distFolder = join(root, "dist/executors/wasm/build");
const threadSource = join(root, "src/executors/wasm/thread.ts");

const variants = [
  { name: "simd", relaxed: false, threads: false },
  { name: "relaxed-simd", relaxed: true, threads: false },
  { name: "simd-threads", relaxed: false, threads: true },
  { name: "relaxed-simd-threads", relaxed: true, threads: true },
  { name: "quantizer", entry: "wasm/quantizer/main.ts", relaxed: false, threads: true },
];

const modified = (path) => (existsSync(path) ? statSync(path).mtimeMs : 0);
/** When the newest of a binary's sources was modified; the quantiser's use the executor's. */
const newestKernel = ({ entry }) => {
  const names = readdirSync(join(root, "wasm"), { recursive: entry !== undefined });
  const kernels = names.filter((name) => name.endsWith(".ts")).map((name) => join(root, "wasm", name));
  return Math.max(...[...kernels, fileURLToPath(import.meta.url)].map(modified));
};

mkdirSync(outFolder, { recursive: true });
const stale = variants.filter((each) => modified(join(outFolder, `halfbyte-${each.name}.wasm`)) < newestKernel(each));
for (const variant of stale) await compile(variant);

const thread = join(outFolder, "thread.js");
if (modified(thread) < modified(threadSource)) {
  const { default: ts } = await import("typescript");
  const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, removeComments: true };
  writeFileSync(thread, ts.transpileModule(readFileSync(threadSource, "utf8"), { compilerOptions }).outputText);
}

// Only with the JavaScript of the same sources: kernels and it must agree on where things stand in memory.
if (process.argv.includes("--dist")) cpSync(outFolder, distFolder, { recursive: true, preserveTimestamps: true });

async function compile({ name, entry = "wasm/main.ts", relaxed, threads }) {
  const { default: asc } = await import("assemblyscript/asc");
  const started = performance.now();
  const path = join(outFolder, `halfbyte-${name}.wasm`);
  // Written aside and renamed: a test or another build may be reading the old one.
  const draft = `${path}.${process.pid}`;
  const features = ["simd", ...(relaxed ? ["relaxed-simd"] : []), ...(threads ? ["threads"] : [])];
  const { error, stderr } = await asc.main([
    join(root, entry),
    ...["--outFile", draft, "--baseDir", root],
    ...["-O3", "--noAssert", "--runtime", "stub", "--use", "abort=", "--enable", features.join(",")],
    ...["--importMemory", "--initialMemory", "1", "--maximumMemory", "65536", ...(threads ? ["--sharedMemory"] : [])],
  ]);
  if (error) {
    process.stderr.write(stderr.toString());
    process.exit(1);
  }
  renameSync(draft, path);
  const milliseconds = Math.round(performance.now() - started);
  console.log(`${name}: ${statSync(path).size} bytes, ${milliseconds} ms`);
}
