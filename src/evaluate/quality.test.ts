import { describe, expect, it } from "vitest";
import { randomModel } from "../../test/random-plan.ts";
import { writeSafetensors } from "../../test/safetensors-writer.ts";
import type { PlanRunner, StepBatch } from "../executors/executor.ts";
import { referenceExecutor } from "../executors/reference/reference.ts";
import { memorySource } from "../formats/memory-source.ts";
import { greedyContinuation } from "./greedy.ts";
import { compareWithTruth, type Truth } from "./quality.ts";
import { readTruth } from "./read-truth.ts";

/** The ln-softmax of each row by the host's own functions: an independent truth. */
function logProbabilities(logits: ArrayLike<number>): number[] {
  const max = Math.max(...Array.from(logits));
  const sum = Array.from(logits).reduce((total, x) => total + Math.exp(x - max), 0);
  return Array.from(logits, (x) => x - max - Math.log(sum));
}

async function randomRunner(options: { maxRows: number; maxLogitRows: number }): Promise<PlanRunner> {
  const { plan, weights } = randomModel({ seed: 3, kinds: ["f32"], hidden: 32, layers: 1, compile: options });
  return referenceExecutor.load(plan, weights);
}

const ids = Int32Array.from([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5]);

/** What a runner itself says, as a truth of its `width` likeliest tokens. */
async function truthOf(runner: PlanRunner, width: number): Promise<Truth> {
  const rows: number[][] = [];
  runner.ensureBlocks(1);
  for (const [position, id] of ids.entries()) {
    const batch: StepBatch = {
      tokenIds: Int32Array.of(id),
      segments: [{ rows: 1, position, blocks: Int32Array.of(0) }],
      logitRows: Int32Array.of(0),
    };
    rows.push(logProbabilities(await runner.step(batch)));
  }
  const ranked = rows.map((row) => row.map((_, i) => i).sort((a, b) => row[b]! - row[a]!));
  return {
    ids,
    width,
    topIds: Int32Array.from(ranked.flatMap((row) => row.slice(0, width))),
    topLogProbabilities: Float32Array.from(ranked.flatMap((row, i) => row.slice(0, width).map((id) => rows[i]![id]!))),
    negativeLogProbabilities: Float32Array.from(ids.subarray(1), (id, i) => -rows[i]![id]!),
  };
}

describe("comparison with a truth", () => {
  it.each([
    [1, 1],
    [4, 4],
    [16, 3],
  ])(
    "finds no difference between a model and itself, whatever the steps (%i rows, %i of logits)",
    async (maxRows, maxLogitRows) => {
      const runner = await randomRunner({ maxRows, maxLogitRows });
      const quality = await compareWithTruth(runner, await truthOf(runner, 5));
      expect(quality).toMatchObject({ positions: ids.length, topOneAgreement: 1, disagreements: [] });
      expect(Math.abs(quality.meanDivergence)).toBeLessThan(1e-6);
      expect(quality.perplexity).toBeCloseTo(quality.truthPerplexity, 5);
    },
  );

  it("measures the divergence from another distribution", async () => {
    const runner = await randomRunner({ maxRows: 4, maxLogitRows: 4 });
    const truth = await truthOf(runner, 2);
    // The truth now says half and half, nothing left: KL = ln(1/2) − mean of the two log-probabilities.
    const changed: Truth = { ...truth, topLogProbabilities: truth.topLogProbabilities.map(() => Math.log(0.5)) };
    const logs = truth.topLogProbabilities;
    const expected = logs.reduce((sum, log) => sum + 0.5 * (Math.log(0.5) - log), 0) / ids.length;
    expect((await compareWithTruth(runner, changed)).meanDivergence).toBeCloseTo(expected, 5);
  });

  it("reports where the likeliest token differs, and by how much", async () => {
    const runner = await randomRunner({ maxRows: 4, maxLogitRows: 4 });
    const truth = await truthOf(runner, 3);
    const topIds = truth.topIds.slice();
    [topIds[6], topIds[7]] = [topIds[7]!, topIds[6]!];
    const { disagreements, topOneAgreement } = await compareWithTruth(runner, { ...truth, topIds });
    const gap = truth.topLogProbabilities[6]! - truth.topLogProbabilities[7]!;
    expect(disagreements).toEqual([{ position: 2, gap }]);
    expect(topOneAgreement).toBeCloseTo(1 - 1 / ids.length, 10);
  });
});

describe("greedy continuation", () => {
  it("is the same wherever the prompt is cut", async () => {
    const one = await greedyContinuation(await randomRunner({ maxRows: 1, maxLogitRows: 1 }), ids, 6);
    const many = await greedyContinuation(await randomRunner({ maxRows: 16, maxLogitRows: 1 }), ids, 6);
    expect(many).toHaveLength(6);
    expect(many).toEqual(one);
  });
});

describe("a truth's file", () => {
  const file = (shapes: Record<string, [string, number[]]>): Promise<Truth> => {
    let size = 0;
    const header: Record<string, object> = {};
    for (const [name, [dtype, shape]] of Object.entries(shapes)) {
      const end = size + 4 * shape.reduce((product, n) => product * n, 1);
      header[name] = { dtype, shape, data_offsets: [size, end] };
      size = end;
    }
    return readTruth(memorySource(writeSafetensors(header, size)));
  };
  const good: Record<string, [string, number[]]> = {
    ids: ["I32", [3]],
    top_ids: ["I32", [3, 2]],
    top_logprobs: ["F32", [3, 2]],
    nll: ["F32", [2]],
  };

  it("is read when it fits", async () => {
    expect(await file(good)).toMatchObject({ width: 2, ids: new Int32Array(3) });
  });

  it.each([
    ["ERR_MISSING", { nll: undefined }],
    ["ERR_SHAPE", { nll: ["F32", [3]] }],
    ["ERR_SHAPE", { ids: ["F32", [3]] }],
    ["ERR_SHAPE", { top_logprobs: ["F32", [3, 3]] }],
    ["ERR_LIMIT", { ids: ["I32", [1]], top_ids: ["I32", [1, 2]], top_logprobs: ["F32", [1, 2]], nll: ["F32", [0]] }],
  ])("is refused with %s otherwise: %o", async (code, changes) => {
    const shapes = Object.fromEntries(Object.entries({ ...good, ...changes }).filter(([, value]) => value));
    await expect(file(shapes as typeof good)).rejects.toMatchObject({ code });
  });
});
