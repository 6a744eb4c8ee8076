import { type LoadModelOptions, loadGguf, type ModelInput } from "./load-model.ts";
import type { Model } from "./model.ts";
import type { LoadedShard, LoadShardOptions } from "./shard/load-shard.ts";
import { withExecutor } from "./with-executor.ts";

export { HalfbyteError } from "./errors.ts";
export type * from "./index.ts";

/** As in Node, but a string is the URL of a GGUF file, relative to the page. */
export function loadModel(
  input: string | ModelInput | readonly ModelInput[],
  options: LoadShardOptions,
): Promise<LoadedShard>;
export function loadModel(
  input: string | ModelInput | readonly ModelInput[],
  options?: LoadModelOptions,
): Promise<Model>;
export async function loadModel(
  input: string | ModelInput | readonly ModelInput[],
  options: LoadModelOptions | LoadShardOptions = {},
): Promise<Model | LoadedShard> {
  const place = typeof input === "string" ? new URL(input, globalThis.location?.href) : input;
  if ("shard" in options && options.shard !== undefined)
    return (await import("./shard/load-shard.ts")).loadGgufShard(place, options);
  import("./make-model.ts").catch(() => {}); // fetched by the time it is needed
  return withExecutor(options, (executor) => loadGguf(place, executor, options));
}
