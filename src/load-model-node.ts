import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { PreparedExecutor } from "./executors/executor.ts";
import type { ByteSource } from "./formats/byte-source.ts";
import { splitFileNames } from "./formats/gguf/open-gguf.ts";
import { openFileIfPresent, openFileSource } from "./formats/node-file-source.ts";
import { pull } from "./hub/index.ts";
import { type LoadModelOptions, loadFolder, loadGguf } from "./load-model.ts";
import type { Model } from "./model.ts";
import type { LoadedShard, LoadShardOptions } from "./shard/load-shard.ts";

/** Loads a model by reference: fetches it into the cache where that is needed, then opens the file or folder. */
export async function loadReference(
  reference: string,
  executor: PreparedExecutor,
  options: LoadModelOptions,
): Promise<Model> {
  return loadPath(await fetched(reference, options), executor, options);
}

/** Takes a rank's share of a model by reference, as `loadReference` finds it. */
export async function loadReferenceShard(reference: string, options: LoadShardOptions): Promise<LoadedShard> {
  const path = await fetched(reference, options);
  const { openPath } = await import("./formats/node-open-path.ts");
  const { shardOfFile } = await import("./shard/load-shard.ts");
  return shardOfFile(await openPath(path), options);
}

/** The path of a model on this machine. */
async function fetched(
  reference: string,
  { signal, onProgress, environment }: Pick<LoadModelOptions, "signal" | "onProgress" | "environment">,
): Promise<string> {
  const { path } = await pull(reference, {
    ...(environment && { environment }),
    ...(signal && { signal }),
    ...(onProgress && {
      onProgress: ({ receivedBytes, totalBytes }) =>
        onProgress({ phase: "download", done: receivedBytes, total: totalBytes }),
    }),
  });
  return path;
}

async function loadPath(path: string, executor: PreparedExecutor, options: LoadModelOptions): Promise<Model> {
  if ((await stat(path)).isDirectory())
    return loadFolder((name) => openFileIfPresent(join(path, name)), basename(path), executor, options);
  const names = splitFileNames(basename(path)) ?? [basename(path)];
  const sources: ByteSource[] = [];
  try {
    for (const name of names) sources.push(await openFileSource(join(dirname(path), name)));
  } catch (error) {
    await Promise.all(sources.map((source) => source.close()));
    throw error;
  }
  return loadGguf(sources, executor, { name: basename(path), ...options });
}
