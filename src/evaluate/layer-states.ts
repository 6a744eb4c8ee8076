import type { Executor } from "../executors/executor.ts";
import { residualName } from "../models/decoder.ts";
import type { OpenModel } from "../models/open-model.ts";
import { blocksFor } from "../plan/cache-layout.ts";
import type { CompileOptions } from "../plan/compile.ts";

/** The residual stream over a text, after the embedding and after each layer: [layers + 1] of f32 [tokens, hidden]. */
export async function layerStates(
  model: OpenModel,
  executor: Executor,
  ids: Int32Array,
  options: Pick<CompileOptions, "activations" | "cacheType"> = {},
): Promise<Float32Array[]> {
  const { hiddenSize, layers } = model.config;
  const keep = Array.from({ length: layers.length + 1 }, (_, l) => residualName(l));
  const states = keep.map(() => new Float32Array(ids.length * hiddenSize));
  const runner = await executor.load(model.compile({ ...options, keep }), model.weights);
  const blocks = Int32Array.from({ length: blocksFor(ids.length) }, (_, i) => i);
  runner.ensureBlocks(blocks.length);
  for (let position = 0; position < ids.length; position += runner.plan.maxRows) {
    const tokenIds = ids.slice(position, position + runner.plan.maxRows);
    const logitRows = tokenIds.map((_, m) => m);
    const segments = [{ rows: tokenIds.length, position, blocks }];
    await runner.step({ tokenIds, segments, logitRows, logits: false });
    for (const [l, name] of keep.entries()) states[l]!.set(runner.read(name), position * hiddenSize);
  }
  await runner.dispose();
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
