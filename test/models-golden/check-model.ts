import { expect } from "vitest";
import { layerStates, relativeError } from "../../src/evaluate/layer-states.ts";
import { argmax } from "../../src/evaluate/log-probability.ts";
import { referenceExecutor } from "../../src/executors/reference/reference.ts";
import type { OpenModel } from "../../src/models/open-model.ts";
import { goldenTensors } from "./golden-tensors.ts";
import { load } from "./run-model.ts";

/**
 * Float weights and an f32 cache leave only the order of sums and the rounding of functions: two f32 implementations of a
 * tiny model differ by some 2e-6. Ours differ by 1.5e-6 at most.
 */
export const FLOAT_TOLERANCE = 1e-5;

/**
 * Quantised weights in A16: activations are rounded to 1/32767 of their group's largest, before each matrix. Six layers of
 * random weights make 1.8e-4 of it at most.
 */
export const A16_TOLERANCE = 5e-4;

/** Keys and values rounded to f16, to 2^-12 of themselves, as by default; scores of random models are large: 9.4e-4. */
export const F16_CACHE_TOLERANCE = 3e-3;

/** Steps are compared up to the first whose two best logits are nearer than twice what A16 moves one at most. */
const SMALLEST_GAP = 0.01;

/**
 * Logits of a prompt within `tolerance` of a golden file's (relative norm; the file may hold the last positions alone),
 * and the same greedy continuation.
 */
export async function expectGolden(model: OpenModel, golden: string, tolerance: number): Promise<void> {
  const truth = await goldenTensors(golden);
  const ids = truth.get("input_ids")!;
  const logits = truth.get("logits")!;
  const greedy = truth.get("greedy")!;
  const gaps = truth.get("greedy_margin")!.values;
  const [rows, length] = ids.shape as [number, number];
  const [, positions, vocabulary] = logits.shape as [number, number, number];
  const steps = greedy.shape[1]!;
  for (let r = 0; r < rows; r++) {
    const prompt = ids.values.subarray(r * length, (r + 1) * length);
    const options = { activations: "a16", cacheType: "f32", maxRows: length, maxLogitRows: length } as const;
    const sequence = await load(model, length + steps, options);
    const all = await sequence.feed(prompt, "all");
    const size = positions * vocabulary;
    expect(
      relativeError(all.subarray(all.length - size), logits.values.subarray(r * size, (r + 1) * size)),
    ).toBeLessThan(tolerance);

    const close = gaps.subarray(r * steps, (r + 1) * steps).findIndex((gap) => gap < SMALLEST_GAP);
    const count = close < 0 ? steps : close;
    const got: number[] = [];
    let last = all.subarray(all.length - vocabulary);
    while (got.length < count) {
      got.push(argmax(last));
      last = await sequence.feed([got.at(-1)!], "last");
    }
    expect(got).toEqual([...greedy.values.subarray(r * steps, r * steps + count)]);
  }
}

/** As the engine runs it: A16 and the default f16 cache. */
export async function expectGoldenWithF16Cache(model: OpenModel, golden: string): Promise<void> {
  const truth = await goldenTensors(golden);
  const ids = truth.get("input_ids")!;
  const length = ids.shape[1]!;
  const logits = truth.get("logits")!;
  const size = logits.shape[1]! * logits.shape[2]!;
  const sequence = await load(model, length, { activations: "a16", maxRows: length, maxLogitRows: length });
  const all = await sequence.feed(ids.values.subarray(0, length), "all");
  const error = relativeError(all.subarray(all.length - size), logits.values.subarray(0, size));
  expect(error).toBeLessThan(F16_CACHE_TOLERANCE);
}

/** The residual stream of the golden file's first prompt, after the embedding and each layer, in f32. */
export async function expectGoldenStates(model: OpenModel, golden: string): Promise<void> {
  const truth = await goldenTensors(golden);
  const [, length] = truth.get("input_ids")!.shape as [number, number];
  const ids = Int32Array.from(truth.get("input_ids")!.values.subarray(0, length));
  const states = await layerStates(model, referenceExecutor, ids, { cacheType: "f32" });
  const { shape, values } = truth.get("hidden_states")!;
  expect(states).toHaveLength(shape[0]!);
  states.forEach((state, l) => {
    const error = relativeError(state, values.subarray(l * state.length, (l + 1) * state.length));
    expect(error, `after ${l} layers`).toBeLessThan(FLOAT_TOLERANCE);
  });
}
