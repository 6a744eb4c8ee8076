import type { PreparedExecutor } from "./executors/executor.ts";
import { selectExecutor } from "./executors/select.ts";
import type { LoadModelOptions } from "./load-model.ts";
import type { Model } from "./model.ts";

/**
 * Loads a model with the executor that the options ask for. Its threads start first, while the model is found and opened;
 * they end again where that fails. Throws before `load` is called for options that cannot be.
 */
export async function withExecutor(
  options: LoadModelOptions,
  load: (executor: PreparedExecutor) => Promise<Model>,
): Promise<Model> {
  options.signal?.throwIfAborted();
  const executor = await prepareExecutor(options);
  try {
    return await load(executor);
  } catch (error) {
    await executor.dispose();
    throw error;
  }
}

async function prepareExecutor(wishes: LoadModelOptions): Promise<PreparedExecutor> {
  const { signal, onProgress } = wishes;
  const { executor, options: chosen } = await selectExecutor(wishes);
  const options = {
    ...chosen,
    ...(signal && { signal }),
    ...(onProgress && { onProgress: (done: number, total: number) => onProgress({ phase: "load", done, total }) }),
  };
  if (executor.prepare) return executor.prepare(options);
  return { load: (plan, weights) => executor.load(plan, weights, options), dispose: async () => {} };
}
