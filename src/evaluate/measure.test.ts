import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { goldenTensors } from "../../test/models-golden/golden-tensors.ts";
import { openGgufFile } from "../../test/models-golden/run-model.ts";
import { seededRandom } from "../../test/mutate.ts";
import { randomModel } from "../../test/random-plan.ts";
import type { PlanRunner } from "../executors/executor.ts";
import { referenceExecutor } from "../executors/reference/reference.ts";
import { measure } from "./measure.ts";
import { meanOf, quantile } from "./tally.ts";
import { windowsOf } from "./windows.ts";

/** f64 sums of a few hundred terms in another order, and the host's own exp and log. */
const ROUNDING = 1e-9;

describe("windows", () => {
  const text = Int32Array.from({ length: 10 }, (_, i) => 100 + i);
  const cut = (window: number, stride: number, bosId?: number): [number[], number[]][] =>
    windowsOf(text, { window, stride, bosId }).map(({ ids, next }) => [[...ids], [...next]]);

  it("predict each token once but the first, with what went before as context", () => {
    expect(cut(6, 3)).toEqual([
      [
        [100, 101, 102, 103, 104],
        [101, 102, 103, 104, 105],
      ],
      [
        [103, 104, 105, 106, 107],
        [106, 107, 108],
      ],
      [[106, 107, 108], [109]],
    ]);
  });

  it("lose their first token when they stand side by side", () => {
    expect(cut(5, 5).map(([, next]) => next)).toEqual([
      [101, 102, 103, 104],
      [106, 107, 108, 109],
    ]);
    expect(cut(3, 3).map(([, next]) => next)).toEqual([
      [101, 102],
      [104, 105],
      [107, 108],
    ]);
  });

  it("predict every token after a beginning token", () => {
    expect(cut(5, 4, 1)).toEqual([
      [
        [1, 100, 101, 102],
        [100, 101, 102, 103],
      ],
      [
        [1, 104, 105, 106],
        [104, 105, 106, 107],
      ],
      [
        [1, 108],
        [108, 109],
      ],
    ]);
  });

  it("are one where the text is shorter", () => {
    expect(cut(512, 256)).toEqual([[[...text.subarray(0, 9)], [...text.subarray(1)]]]);
  });

  it.each([
    [0, 6, 3],
    [1, 6, 3],
    [10, 1, 1],
    [10, 2.5, 1],
    [10, 6, 0],
    [10, 6, 7],
  ])("are refused for a text of %i, a window of %d and a stride of %i", (length, window, stride) => {
    const wanted = { window, stride, bosId: undefined };
    expect(() => windowsOf(text.subarray(0, length), wanted)).toThrow(
      expect.objectContaining({ code: "ERR_ARGUMENT" }),
    );
  });
});

/** A runner that gives set logits for each pair of position and token; it has no model. */
function fakeRunner(
  rows: (position: number, id: number) => Float32Array,
  maxRows: number,
  maxLogitRows: number,
): PlanRunner {
  const plan = { maxRows, maxLogitRows, vocabularySize: rows(0, 0).length };
  return {
    plan,
    ensureBlocks() {},
    async step({ tokenIds, segments: [segment], logitRows }: Parameters<PlanRunner["step"]>[0]) {
      expect(tokenIds.length).toBeLessThanOrEqual(maxRows);
      expect(logitRows.length).toBeLessThanOrEqual(maxLogitRows);
      const all = [...logitRows].map((m) => rows(segment!.position + m, tokenIds[m]!));
      return Float32Array.from(all.flatMap((row) => [...row]));
    },
    async dispose() {},
  } as unknown as PlanRunner;
}

function randomRows(seed: number, vocabulary: number): (position: number, id: number) => Float32Array {
  return (position, id) => {
    const random = seededRandom(seed + 1000 * position + id);
    return Float32Array.from({ length: vocabulary }, () => 12 * random() - 6);
  };
}

/** ln softmax of a row, by the host's functions. */
function logs(row: Float32Array): number[] {
  const sum = [...row].reduce((total, x) => total + Math.exp(x), 0);
  return [...row].map((x) => x - Math.log(sum));
}

describe("a measurement", () => {
  const text = Int32Array.from({ length: 23 }, (_, i) => (i * 7) % 11);
  const vocabulary = 11;
  const rowsOf = [randomRows(1, vocabulary), randomRows(2, vocabulary)] as const;
  const windows = windowsOf(text, { window: 9, stride: 4, bosId: undefined });

  it.each([
    [9, 9],
    [4, 2],
    [5, 1],
    [1, 1],
  ])("has the numbers that plain f64 gives, in steps of %i rows and %i of logits", async (maxRows, maxLogitRows) => {
    const [a, b] = rowsOf.map((rows) => fakeRunner(rows, maxRows, maxLogitRows));
    const { predictions, of, complete } = await measure(
      { name: "a", runner: a! },
      [{ name: "b", runner: b! }],
      windows,
    );

    const losses: [number, number][] = [];
    const divergences: number[] = [];
    let topOne = 0;
    let topFive = 0;
    for (const { ids, next } of windows)
      for (const [i, id] of next.entries()) {
        const m = ids.length - next.length + i;
        const [p, q] = rowsOf.map((rows) => logs(rows(m, ids[m]!))) as [number[], number[]];
        losses.push([-p[id]!, -q[id]!]);
        divergences.push(p.reduce((sum, log, v) => sum + Math.exp(log) * (log - q[v]!), 0));
        const ranked = [p, q].map((row) => row.map((_, v) => v).sort((x, y) => row[y]! - row[x]!));
        topOne += Number(ranked[0]![0] === ranked[1]![0]);
        topFive += ranked[0]!.slice(0, 5).filter((v) => ranked[1]!.slice(0, 5).includes(v)).length / 5;
      }
    const mean = (values: number[]): number => values.reduce((sum, x) => sum + x, 0) / values.length;
    const error = (values: number[]): number =>
      Math.sqrt(mean(values.map((x) => (x - mean(values)) ** 2)) / (values.length - 1));
    const near = (value: number): unknown => expect.closeTo(value, -Math.log10(ROUNDING));

    expect({ predictions, complete }).toEqual({ predictions: 22, complete: true });
    const [first, second] = [0, 1].map((i) => losses.map((pair) => pair[i]!)) as [number[], number[]];
    const increases = losses.map(([x, y]) => y - x);
    expect(of[0]).toEqual({ loss: { mean: near(mean(first)), standardError: near(error(first)) } });
    const sorted = divergences.toSorted((x, y) => x - y);
    expect(of[1]).toEqual({
      loss: { mean: near(mean(second)), standardError: near(error(second)) },
      comparison: {
        divergence: {
          mean: near(mean(divergences)),
          standardError: near(error(divergences)),
          median: near(sorted[10]!),
          p99: near(sorted[21]!),
          max: near(sorted[21]!),
        },
        lossIncrease: { mean: near(mean(increases)), standardError: near(error(increases)) },
        topOne: expect.objectContaining({ mean: near(topOne / 22) }),
        topFive: expect.objectContaining({ mean: near(topFive / 22) }),
      },
    });
  });

  it("refuses logits that are not finite", async () => {
    const bad = fakeRunner((position) => Float32Array.of(1, position === 5 ? Number.NaN : 2, 0), 4, 4);
    const ids = new Int32Array(12);
    const windows = windowsOf(ids, { window: 12, stride: 12, bosId: undefined });
    await expect(measure(undefined, [{ name: "bad", runner: bad }], windows)).rejects.toMatchObject({
      code: "ERR_NON_FINITE",
      place: "bad, prediction 5",
    });
  });

  it("gives what there is when it is stopped, and nothing but the reason before there is any", async () => {
    const stopper = new AbortController();
    const runner = fakeRunner(rowsOf[0], 2, 2);
    const stopAt = (rows: number) => (done: number) => done >= rows && stopper.abort(new Error("enough"));
    const subject = { name: "a", runner };
    const part = await measure(undefined, [subject], windows, undefined, {
      stop: stopper.signal,
      onProgress: stopAt(6),
    });
    expect(part).toMatchObject({ complete: false, predictions: 6 });
    await expect(measure(undefined, [subject], windows, undefined, { stop: stopper.signal })).rejects.toThrow("enough");
    const ended = AbortSignal.abort(new Error("away"));
    await expect(measure(undefined, [subject], windows, undefined, { signal: ended })).rejects.toThrow("away");
  });

  it("finds a model equal to itself", async () => {
    const compile = { maxRows: 8, maxLogitRows: 4 };
    const { plan, weights } = randomModel({ seed: 3, kinds: ["f32"], hidden: 32, layers: 1, compile });
    const load = async (name: string) => ({ name, runner: await referenceExecutor.load(plan, weights) });
    const { of } = await measure(await load("a"), [await load("b")], windows);
    expect(of[1]!.comparison).toMatchObject({
      divergence: { mean: 0, max: 0 },
      lossIncrease: { mean: 0, standardError: 0 },
      topOne: { mean: 1 },
      topFive: { mean: 1 },
    });
  });
});

/** A16 is within 1e-4 of float, relative, for each logit; the loss of a token moves by some of that. */
const A16_LOSS_TOLERANCE = 1e-3;

it.each(["llama", "gemma3"])("the loss of tiny %s is that of the truth's logits", async (name) => {
  const golden = (end: string): string =>
    fileURLToPath(new URL(`../../test/golden/${name}-q4_0${end}`, import.meta.url));
  const truth = await goldenTensors(golden(".golden.safetensors"));
  // Of the last positions; the very last predicts what is not known.
  const { values, shape } = truth.get("logits")!;
  const [, positions, vocabulary] = shape as [number, number, number];
  const ids = Int32Array.from(truth.get("input_ids")!.values);
  const next = ids.subarray(ids.length - positions + 1);
  let expected = 0;
  for (const [i, id] of next.entries())
    expected -= logs(values.slice(i * vocabulary, (i + 1) * vocabulary) as Float32Array)[id]!;
  const model = await openGgufFile(golden(".gguf"));
  const plan = model.compile({ activations: "a16", cacheType: "f32", maxRows: 16, maxLogitRows: 16 });
  const runner = await referenceExecutor.load(plan, model.weights);
  const { of } = await measure(undefined, [{ name, runner }], [{ ids: ids.subarray(0, -1), next }]);
  expect(Math.abs(of[0]!.loss.mean - expected / next.length)).toBeLessThan(A16_LOSS_TOLERANCE);
});

describe("means and quantiles", () => {
  it("have no standard error of one value", () => {
    expect(meanOf(Float64Array.of(3))).toEqual({ mean: 3, standardError: undefined });
    expect(meanOf(Float64Array.of(1, 3))).toEqual({ mean: 2, standardError: 1 });
  });

  it("are values of the list", () => {
    const sorted = Float64Array.from({ length: 200 }, (_, i) => i + 1);
    expect([0, 0.5, 0.99, 1].map((share) => quantile(sorted, share))).toEqual([1, 100, 198, 200]);
  });
});
