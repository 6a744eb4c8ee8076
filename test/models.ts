import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** Where `halfbyte pull` keeps models: the same rule as src/hub/cache-folder.ts. */
function cacheFolder(): string {
  const base = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  return process.env["HALFBYTE_CACHE"] || join(base, "halfbyte");
}

function cached(override: string | undefined, file: string): string | undefined {
  return [override, join(cacheFolder(), "models", file)].find((path) => path && existsSync(path));
}

/** SmolLM2-135M-Instruct, Q4_1, or undefined where it is not on this machine. */
export async function smollm2Path(): Promise<string | undefined> {
  return cached(process.env["HALFBYTE_TEST_SMOLLM2"], "SmolLM2-135M-Instruct.Q4_1.gguf");
}

/** Gemma 3 270M, Q4_K_M, or undefined where it is not on this machine. */
export async function gemmaPath(): Promise<string | undefined> {
  return cached(process.env["HALFBYTE_TEST_GEMMA"], "gemma-3-270m-q4_k_m.gguf");
}
