import { existsSync } from "node:fs";
import { ALIASES } from "../src/hub/aliases.ts";
import { pull, resolveModel } from "../src/hub/index.ts";

/**
 * Runs once before all tests: SmolLM2 is fetched into the user's cache unless it is there, Gemma only where
 * HALFBYTE_TEST_GEMMA=fetch. Without a model its tests are skipped, and a line says so. HALFBYTE_TEST_SMOLLM2 and
 * HALFBYTE_TEST_GEMMA may hold a path instead; HALFBYTE_OFFLINE=1 keeps the tests off the network.
 */
export default async function fetchModels(): Promise<void> {
  await provide("HALFBYTE_TEST_SMOLLM2", "smollm2", true);
  await provide("HALFBYTE_TEST_GEMMA", "gemma3-270m", process.env.HALFBYTE_TEST_GEMMA === "fetch");
}

async function provide(variable: string, alias: string, fetch: boolean): Promise<void> {
  const given = process.env[variable];
  if (given && given !== "fetch") {
    if (!existsSync(given)) throw new Error(`${variable} names ${given}, which is not there`);
    return;
  }
  if ((await resolveModel(alias)) !== undefined) return;
  const title = ALIASES.get(alias)?.title ?? alias;
  if (!fetch) {
    console.warn(`${title}: not in the cache, its tests are skipped (${variable}=fetch fetches it)`);
    return;
  }
  console.warn(`${title}: fetching it once for the tests`);
  try {
    await pull(alias);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    console.warn(`${title}: its tests are skipped, since it could not be fetched: ${reason}`);
  }
}
