import { measure } from "./measure.mjs";

/**
 * Runs in a page: fetches the model into memory, then measures an arm with it.
 * @param {{ arm: string, url: string, task: import("./arms/arm").Task }} given
 */
export async function inPage({ arm, url, task }) {
  const { open } = await import(`./arms/${arm}.mjs`);
  const file = await (await fetch(url)).blob();
  return measure(open, file, task, globalThis.processorSeconds);
}
