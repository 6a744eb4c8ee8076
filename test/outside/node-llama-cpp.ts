import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cacheFolder } from "../../src/hub/cache-folder.ts";
import { withLock } from "../../src/hub/lock.ts";

const run = promisify(execFile);

const VERSION = "3.22.1";
const INSTALL_TIMEOUT_MS = 300_000;

export interface GreedyJob {
  /** Path of a GGUF file. */
  readonly model: string;
  readonly prompt: readonly number[];
  readonly count: number;
}

/** Tokens that llama.cpp gives greedily after each prompt. */
export type GreedyTokens = (jobs: readonly GreedyJob[]) => Promise<number[][]>;

/**
 * node-llama-cpp in the cache, for the CPU alone, installed once: it is a rival of this package and none of its
 * dependencies. A reason where it cannot be had.
 */
export async function nodeLlamaCpp(): Promise<GreedyTokens | string> {
  const platform = `${process.platform}-${process.arch}`;
  if (platform !== "linux-x64" && platform !== "linux-arm64") return `no small build for ${platform}`;
  const folder = join(cacheFolder(), `test-node-llama-cpp-${VERSION}`);
  const done = join(folder, "done");
  try {
    await mkdir(cacheFolder(), { recursive: true });
    await withLock(`${folder}.lock`, async () => {
      if (existsSync(done)) return;
      if (process.env.HALFBYTE_OFFLINE === "1") throw new Error("HALFBYTE_OFFLINE=1 keeps tests off the network");
      await rm(folder, { recursive: true, force: true });
      await mkdir(folder);
      const packages = [`node-llama-cpp@${VERSION}`, `@node-llama-cpp/${platform}@${VERSION}`];
      // Without --omit=optional it brings builds for CUDA and Vulkan, ten times the size.
      const options = ["--no-audit", "--no-fund", "--ignore-scripts", "--omit=optional", "--prefix", folder];
      await run("npm", ["install", ...options, ...packages], { cwd: folder, timeout: INSTALL_TIMEOUT_MS });
      await writeFile(done, "");
    });
  } catch (error) {
    return `it cannot be installed: ${String((error as Error).message).split("\n")[0]}`;
  }
  const script = fileURLToPath(new URL("greedy-tokens.mjs", import.meta.url));
  return async (jobs) => {
    // A process of its own: llama.cpp ends the process where it finds a model unsound.
    const { stdout } = await run(process.execPath, [script, folder, JSON.stringify(jobs)]);
    return JSON.parse(stdout.slice(stdout.lastIndexOf("[[")));
  };
}
