import type { Capacity } from "./engine/capacity.ts";
import { Engine } from "./engine/engine.ts";
import type { PlanRunner, WeightSet } from "./executors/executor.ts";
import type { GgufFile } from "./formats/gguf/open-gguf.ts";
import type { HuggingFaceFolder } from "./formats/safetensors/hugging-face-folder.ts";
import { Model } from "./model.ts";
import { ChatTemplates, openText } from "./text/open-text.ts";

interface ModelSettings {
  readonly name: string;
  readonly architecture: string;
  readonly contextLength: number;
  readonly capacity: Capacity;
  readonly weights: WeightSet;
  /** In place of the file's own. */
  readonly chatTemplate: string | undefined;
}

/** Reads the text side of a file while its weights load, and puts both together. The model closes the file. */
export async function makeModel(
  file: GgufFile | HuggingFaceFolder,
  loading: Promise<PlanRunner>,
  { chatTemplate, capacity, ...settings }: ModelSettings,
): Promise<Model> {
  const [runner, { tokenizer, templates }] = await Promise.all([loading, openText(file)]);
  const cacheTokens = capacity.cacheTokens(runner.plan.cache.blockBytes, availableMemory());
  const sources = chatTemplate === undefined ? templates : new Map([["default", chatTemplate]]);
  return new Model({
    ...settings,
    tokenizer,
    chatTemplates: new ChatTemplates(sources, tokenizer),
    runner,
    engine: new Engine(runner, { ...capacity, cacheTokens }),
    close: () => file.close(),
  });
}

/** Bytes that this process can still have, limits of its container among them; a page does not know. */
function availableMemory(): number | undefined {
  const { process } = globalThis as { process?: { availableMemory?: () => number } };
  return process?.availableMemory?.();
}
