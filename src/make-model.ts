import { Engine, type EngineOptions } from "./engine/engine.ts";
import type { PlanRunner } from "./executors/executor.ts";
import type { GgufFile } from "./formats/gguf/open-gguf.ts";
import type { HuggingFaceFolder } from "./formats/safetensors/hugging-face-folder.ts";
import { Model } from "./model.ts";
import { ChatTemplates, openText } from "./text/open-text.ts";

interface ModelSettings {
  readonly name: string;
  readonly architecture: string;
  readonly contextLength: number;
  readonly engine: EngineOptions;
  /** In place of the file's own. */
  readonly chatTemplate: string | undefined;
}

/** Reads the text side of a file while its weights load, and puts both together. The model closes the file. */
export async function makeModel(
  file: GgufFile | HuggingFaceFolder,
  loading: Promise<PlanRunner>,
  { chatTemplate, engine, ...settings }: ModelSettings,
): Promise<Model> {
  const [runner, { tokenizer, templates }] = await Promise.all([loading, openText(file)]);
  const sources = chatTemplate === undefined ? templates : new Map([["default", chatTemplate]]);
  return new Model({
    ...settings,
    tokenizer,
    chatTemplates: new ChatTemplates(sources, tokenizer),
    runner,
    engine: new Engine(runner, engine),
    close: () => file.close(),
  });
}
