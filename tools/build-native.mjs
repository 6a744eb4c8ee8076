// Builds the native executor with the machine's own C++ compiler and Node-API's headers from npm: no Python, no download.
// Does nothing for outputs newer than their inputs. Without a compiler for C++20, or where it fails, it says so in one line
// and the WebAssembly executor serves; `--require` makes that an error.
// For tests, in folders of their own: `--sanitize` adds the address and undefined-behaviour sanitizers, `--emulate`
// plays AMX tiles in software and AVX-VNNI by AVX-512 VNNI, where a CPU has neither. HALFBYTE_ADDON names the addon to load in place of the usual one.
import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));
const sourceFolder = join(root, "native");
const sanitize = process.argv.includes("--sanitize");
const emulate = process.argv.includes("--emulate");
const outFolder = join(root, `build/native${sanitize ? "-sanitized" : ""}${emulate ? "-emulated" : ""}`);
const objectFolder = join(outFolder, "objects");

const files = readdirSync(sourceFolder, { recursive: true }).map((name) => join(sourceFolder, name));
const sources = files.filter((path) => path.endsWith(".cc"));

const compileFlags = [
  // The optimiser takes minutes over what the sanitizers put in.
  ...["-std=c++20", sanitize ? "-O0" : "-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra"],
  // The bits depend on it: a product and a sum are two roundings.
  "-ffp-contract=off",
  "-fno-math-errno",
  ...(sanitize ? ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"] : []),
  ...(emulate ? ["-DHALFBYTE_EMULATE"] : []),
];
const linkFlags =
  process.platform === "darwin"
    ? ["-bundle", "-undefined", "dynamic_lookup"]
    : [
        "-shared",
        "-pthread",
        ...(sanitize ? ["-fsanitize=address,undefined"] : ["-static-libstdc++", "-static-libgcc", "-Wl,-s"]),
      ];

/** What the sources need of a compiler and its library. */
const probe = `
#include <atomic>
#include <bit>
#include <span>
#if defined(__x86_64__)
__attribute__((target("avxvnni,avx512vnni"))) int wide() { return 1; }
#endif
int main() { std::atomic<unsigned> word{1}; word.wait(0); word.notify_all(); return std::bit_cast<int>(1.0f) == 0; }
`;

/** Why there is no addon, in words for people. */
class NotBuilt extends Error {}

try {
  await build(findCompiler(), await napiHeaders());
} catch (error) {
  if (!(error instanceof NotBuilt)) throw error;
  console.error(
    `native executor not built, the WebAssembly executor serves, at about half the speed: ${error.message}`,
  );
  if (process.argv.includes("--require")) process.exitCode = 1;
}

function findCompiler() {
  if (process.platform === "win32") throw new NotBuilt("Windows is not supported yet; use WSL");
  const names = process.env.CXX ? [process.env.CXX] : ["c++", "g++", "clang++"];
  for (const name of names) {
    const { status, stdout } = spawnSync(name, ["--version"], { encoding: "utf8" });
    if (status === 0) return { name, version: stdout.split("\n")[0], quiet: quietFlags(name, stdout) };
  }
  throw new NotBuilt(`no ${names.join(", ")} here; install g++ 11 or clang++ 14, or later, and build again`);
}

function checkCompiler(name, version) {
  const trial = spawnSync(name, ["-std=c++20", "-x", "c++", "-", "-fsyntax-only"], { input: probe });
  if (trial.status !== 0)
    throw new NotBuilt(
      `${version} lacks C++20; install g++ 11 or clang++ 14, or later (CXX names it), and build again`,
    );
}

/** GCC 12 warns about its own AVX-512 header. */
function quietFlags(name, version) {
  return name.includes("clang") || version.includes("clang") ? [] : ["-Wno-uninitialized", "-Wno-maybe-uninitialized"];
}

async function napiHeaders() {
  try {
    const { default: headers } = await import("node-api-headers");
    return headers.include_dir;
  } catch {
    throw new NotBuilt("the package node-api-headers is not installed; run npm ci");
  }
}

async function build({ name, version, quiet }, include) {
  const started = performance.now();
  const target = join(outFolder, `halfbyte-${platformName()}.node`);
  const flags = [...compileFlags, ...quiet, `-I${include}`];
  const recipe = [name, version, ...flags, ...linkFlags].join(" ");
  const recipeFile = join(objectFolder, "recipe.txt");
  mkdirSync(objectFolder, { recursive: true });
  const sameRecipe = existsSync(recipeFile) && readFileSync(recipeFile, "utf8") === recipe;
  const objectOf = (source) => join(objectFolder, `${relative(sourceFolder, source).replaceAll("/", "-")}.o`);
  const stale = sources.filter((source) => {
    const object = objectOf(source);
    if (!sameRecipe || !existsSync(`${object}.d`)) return true;
    return modified(object) < Math.max(modified(source), ...headersOf(object).map(modified));
  });
  if (stale.length === 0 && modified(target) >= Math.max(...sources.map((source) => modified(objectOf(source)))))
    return;
  checkCompiler(name, version);
  // Largest first, so that none is left alone at the end.
  const queue = stale.sort((a, b) => weight(b) - weight(a));
  const worker = async () => {
    for (let source = queue.shift(); source; source = queue.shift())
      await output(name, [...flags, "-MMD", "-MF", `${objectOf(source)}.d`, "-c", source], objectOf(source));
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  writeFileSync(recipeFile, recipe);
  await output(name, [...sources.map(objectOf), ...linkFlags], target);
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  console.log(
    `native executor: ${relative(root, target)}, ${statSync(target).size} bytes, ${seconds} s with ${version}`,
  );
}

/** Runs the compiler. Its output takes the old one's place at the end: a process may have that mapped, or be building too. */
async function output(name, args, path) {
  const unfinished = `${path}.${process.pid}`;
  try {
    const { stderr } = await run(name, [...args, "-o", unfinished]);
    if (stderr) process.stderr.write(stderr);
    renameSync(unfinished, path);
  } catch (error) {
    throw new NotBuilt(`${name} failed on ${basename(path)}\n${error.stderr ?? error}`);
  }
}

/** What the compiler wrote down that the object came from. */
function headersOf(object) {
  return readFileSync(`${object}.d`, "utf8")
    .split(/[\s\\]+/)
    .filter((path) => path.endsWith(".h"));
}

function modified(path) {
  return existsSync(path) ? statSync(path).mtimeMs : 0;
}

function weight(source) {
  return dirname(source).endsWith("isa") ? 2 : 1;
}

/** As in src/executors/native/addon-candidates.ts. */
function platformName() {
  const { platform, arch } = process;
  if (platform !== "linux") return `${platform}-${arch}`;
  return `${platform}-${arch}-${process.report.getReport().header.glibcVersionRuntime ? "gnu" : "musl"}`;
}
