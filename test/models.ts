import { existsSync } from "node:fs";
import { resolveModel } from "../src/hub/index.ts";

/** SmolLM2-135M-Instruct, Q4_1, or undefined where it is not on this machine; fetch-models.ts has seen to it before. */
export async function smollm2Path(): Promise<string | undefined> {
  return modelPath("HALFBYTE_TEST_SMOLLM2", "smollm2");
}

/** Gemma 3 270M, Q4_K_M, or undefined where it is not on this machine. */
export async function gemmaPath(): Promise<string | undefined> {
  return modelPath("HALFBYTE_TEST_GEMMA", "gemma3-270m");
}

async function modelPath(variable: string, alias: string): Promise<string | undefined> {
  const path = process.env[variable];
  if (path && path !== "fetch") return existsSync(path) ? path : undefined;
  return resolveModel(alias);
}
