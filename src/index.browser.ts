import { type LoadModelOptions, loadGguf, type ModelInput } from "./load-model.ts";
import type { Model } from "./model.ts";
import { withExecutor } from "./with-executor.ts";

export { HalfbyteError } from "./errors.ts";
export type * from "./index.ts";

/** As in Node, but a string is the URL of a GGUF file, relative to the page. */
export async function loadModel(
  input: string | ModelInput | readonly ModelInput[],
  options: LoadModelOptions = {},
): Promise<Model> {
  import("./make-model.ts").catch(() => {}); // fetched by the time it is needed
  const place = typeof input === "string" ? new URL(input, globalThis.location?.href) : input;
  return withExecutor(options, (executor) => loadGguf(place, executor, options));
}
