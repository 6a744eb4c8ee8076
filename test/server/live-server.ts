import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type LoadModelOptions, loadModel, type Model } from "../../src/index.ts";
import { type AppOptions, createApp, type Listening, listen, type ModelPool } from "../../src/server/index.ts";

const TINY = fileURLToPath(new URL("../golden/llama-q4_0.gguf", import.meta.url));

/** The model's own, and tools by their names: their schemas would fill its context. */
const TEMPLATE = `{% for tool in tools or [] %}{{ tool.function.name }} {% endfor %}{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}`;

/** A small model with a vocabulary of 512 and a context of 256; what it says has no meaning. */
export async function loadTiny(options: LoadModelOptions = {}): Promise<Model> {
  return loadTinyWithoutTools({ chatTemplate: TEMPLATE, ...options });
}

/** The same with its own template. */
export async function loadTinyWithoutTools(options: LoadModelOptions = {}): Promise<Model> {
  return loadModel(new Blob([await readFile(TINY)]), { executor: "wasm", threads: 1, name: "tiny", ...options });
}

export interface LiveServer extends AsyncDisposable {
  readonly url: string;
}

/** A server on a port of its own, on models that are loaded or a pool. */
export async function liveServer(models: ModelPool | readonly Model[], options: AppOptions = {}): Promise<LiveServer> {
  const server: Listening = await listen(createApp(models, options), { port: 0 });
  return {
    url: server.url,
    async [Symbol.asyncDispose]() {
      server.closeNow();
      await server.close();
    },
  };
}

/** Resolves when the condition holds; polls, since nothing else tells. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}
