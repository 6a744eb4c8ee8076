import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { PlanRunner } from "../../src/executors/executor.ts";
import { referenceExecutor } from "../../src/executors/reference/reference.ts";
import { openGguf } from "../../src/formats/gguf/open-gguf.ts";
import { memorySource } from "../../src/formats/memory-source.ts";
import { openHuggingFaceFolder } from "../../src/formats/safetensors/hugging-face-folder.ts";
import { type OpenModel, type OpenModelOptions, openModel } from "../../src/models/open-model.ts";
import type { CompileOptions } from "../../src/plan/compile.ts";

async function inMemory(path: string): Promise<ReturnType<typeof memorySource>> {
  return memorySource(await readFile(path), path);
}

/** A folder in the layout of the hub; `configName` stands in for config.json. */
export async function openFolder(
  folder: string,
  configName = "config.json",
  options: OpenModelOptions = {},
): Promise<OpenModel> {
  const opened = await openHuggingFaceFolder(async (name) => {
    const path = join(folder, name === "config.json" ? configName : name);
    return inMemory(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
  });
  return openModel(opened, options);
}

export async function openGgufFile(path: string): Promise<OpenModel> {
  return openModel(await openGguf(await inMemory(path)));
}

/** A model in the reference executor, one sequence with room for `positions`. */
export async function load(model: OpenModel, positions: number, options: CompileOptions): Promise<Sequence> {
  const plan = model.compile(options);
  const runner = await referenceExecutor.load(plan, model.weights);
  const blocks = Math.ceil(positions / 16);
  runner.ensureBlocks(blocks);
  return new Sequence(runner, blocks);
}

export class Sequence {
  readonly runner: PlanRunner;
  readonly #blocks: Int32Array;
  #position = 0;

  constructor(runner: PlanRunner, blocks: number) {
    this.runner = runner;
    this.#blocks = Int32Array.from({ length: blocks }, (_, i) => i);
  }

  /** Logits of the last row, or of all rows, [rows, vocabulary]. */
  async feed(ids: ArrayLike<number>, which: "last" | "all"): Promise<Float32Array> {
    const rows = ids.length;
    const logitRows = which === "last" ? [rows - 1] : Array.from({ length: rows }, (_, i) => i);
    const logits = await this.runner.step({
      tokenIds: Int32Array.from(ids),
      segments: [{ rows, position: this.#position, blocks: this.#blocks }],
      logitRows: Int32Array.from(logitRows),
    });
    this.#position += rows;
    return logits.slice();
  }
}
