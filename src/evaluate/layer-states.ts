import type { Executor } from "../executors/executor.ts";
import type { OpenModel } from "../models/open-model.ts";
import type { CompileOptions } from "../plan/compile.ts";
import { forEachPosition } from "./teacher-forced.ts";

/**
 * The residual stream over a text, after the embedding and after each layer: [layers + 1] of f32 [tokens, hidden]. Each
 * layer is a run of its own from the start, so this is for finding a wrong layer, not for use at speed.
 */
export async function layerStates(
  model: OpenModel,
  executor: Executor,
  ids: Int32Array,
  options: Pick<CompileOptions, "activations" | "cacheType"> = {},
): Promise<Float32Array[]> {
  const { hiddenSize, layers } = model.config;
  const states: Float32Array[] = [];
  for (let l = 0; l <= layers.length; l++) {
    const plan = model.compileUntil(l, { ...options, maxLogitRows: 128 });
    const runner = await executor.load(plan, model.weights);
    const rows = new Float32Array(ids.length * hiddenSize);
    await forEachPosition(runner, ids, (position, state) => rows.set(state, position * hiddenSize));
    await runner.dispose();
    states.push(rows);
  }
  return states;
}

/** Norm of the difference over the norm of the truth. */
export function relativeError(got: ArrayLike<number>, truth: ArrayLike<number>): number {
  let difference = 0;
  let norm = 0;
  for (let i = 0; i < truth.length; i++) {
    difference += (got[i]! - truth[i]!) ** 2;
    norm += truth[i]! ** 2;
  }
  return Math.sqrt(difference / norm);
}
