import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, existsSync, readFileSync, statSync } from "node:fs";
import { availableParallelism, cpus, loadavg, release, totalmem, type } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
/** What decides how fast integer products are. */
const TELLING_FEATURES = ["avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "asimddp", "i8mm"];

export interface Machine {
  readonly date: string;
  readonly processor: string;
  readonly processors: number;
  readonly features: readonly string[];
  readonly memoryBytes: number;
  readonly system: string;
  readonly loadAverage: number;
  readonly node: string;
  readonly halfbyte: string;
}

export function describeMachine(): Machine {
  const info = existsSync("/proc/cpuinfo") ? readFileSync("/proc/cpuinfo", "utf8") : "";
  const flags = new Set((/^(?:flags|Features)\s*: (.*)$/m.exec(info)?.[1] ?? "").split(" "));
  return {
    date: new Date().toISOString(),
    processor: cpus()[0]?.model.trim() ?? "unknown",
    processors: availableParallelism(),
    features: TELLING_FEATURES.filter((feature) => flags.has(feature)),
    memoryBytes: totalmem(),
    system: `${type()} ${release()}`,
    loadAverage: loadavg()[0]!,
    node: process.version,
    halfbyte: revision(),
  };
}

function revision(): string {
  const git = (...args: string[]): string => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
  try {
    const changed = git("status", "--porcelain", "--", "src", "wasm", "package.json") !== "";
    return `${git("rev-parse", "--short=10", "HEAD")}${changed ? " with changes" : ""}`;
  } catch {
    return "unknown";
  }
}

/** Makes sure that the rivals are installed, and tells their versions. */
export function rivalVersions(): { readonly wllama: string; readonly nodeLlamaCpp: string } {
  const folder = join(root, "bench/rivals");
  const version = (name: string): string =>
    JSON.parse(readFileSync(join(folder, "node_modules", name, "package.json"), "utf8")).version;
  if (!existsSync(join(folder, "node_modules/@wllama/wllama"))) {
    console.log("installing the rivals in bench/rivals …");
    // Not `npm ci`: it wants the prebuilt binaries of every platform in the lock file, which not every registry has.
    const install = ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"];
    execFileSync("npm", install, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  }
  return { wllama: version("@wllama/wllama"), nodeLlamaCpp: version("node-llama-cpp") };
}

export interface ModelFile {
  readonly path: string;
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

export async function modelFile(path: string): Promise<ModelFile> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return { path, name: basename(path), bytes: statSync(path).size, sha256: hash.digest("hex") };
}
