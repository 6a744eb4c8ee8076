import { describe, expect, it } from "vitest";
import { Random, randomModel } from "../../../test/random-plan.ts";
import type { StepBatch } from "../executor.ts";
import { referenceExecutor } from "./reference.ts";

const blocks = Int32Array.from([5, 2, 0, 3]);
const other = Int32Array.from([1, 4, 6, 7]);
const compile = { maxRows: 40, maxLogitRows: 40 };

/** Logits of every row of a prompt, fed in pieces of the given lengths. */
async function logitsInPieces(seed: number, ids: Int32Array, pieces: number[]): Promise<Float32Array[]> {
  const { plan, weights } = randomModel({ seed, compile });
  const runner = await referenceExecutor.load(plan, weights);
  runner.ensureBlocks(8);
  const out: Float32Array[] = [];
  let position = 0;
  for (const rows of pieces) {
    const batch: StepBatch = {
      tokenIds: ids.subarray(position, position + rows),
      segments: [{ rows, position, blocks }],
      logitRows: Int32Array.from({ length: rows }, (_, i) => i),
    };
    const logits = await runner.step(batch);
    for (let m = 0; m < rows; m++) out.push(logits.slice(m * plan.vocabularySize, (m + 1) * plan.vocabularySize));
    position += rows;
  }
  return out;
}

describe("the reference executor", () => {
  it.each([1, 2, 3, 4, 5, 6])("gives the same bits wherever a prompt is cut (model %i)", async (seed) => {
    const random = new Random(seed);
    const ids = Int32Array.from({ length: 35 }, () => random.below(33));
    const whole = await logitsInPieces(seed, ids, [35]);
    expect(whole.flatMap((row) => [...row]).every(Number.isFinite)).toBe(true);
    expect(await logitsInPieces(seed, ids, [16, 17, 1, 1])).toEqual(whole);
    expect(await logitsInPieces(seed, ids, Array(35).fill(1))).toEqual(whole);
  });

  it("gives a sequence the same bits alone and beside another", async () => {
    const { plan, weights } = randomModel({ seed: 11, compile });
    const runner = await referenceExecutor.load(plan, weights);
    runner.ensureBlocks(8);
    const tokenIds = Int32Array.from([3, 1, 4, 1, 5, 9, 2, 6]);
    const [first, second] = [tokenIds.subarray(0, 5), tokenIds.subarray(5)];
    const logitRows = Int32Array.from([4]);
    const alone = await runner.step({ tokenIds: first, segments: [{ rows: 5, position: 0, blocks }], logitRows });
    const neighbours = [
      { rows: 5, position: 0, blocks: other },
      { rows: 3, position: 0, blocks },
    ];
    const together = await runner.step({ tokenIds, segments: neighbours, logitRows });
    expect(together).toEqual(alone);
    expect(second.length).toBe(3);
  });

  it("refuses steps that do not fit", async () => {
    const { plan, weights } = randomModel({ seed: 1, compile });
    const runner = await referenceExecutor.load(plan, weights);
    const step = (batch: Partial<StepBatch>) =>
      runner.step({
        tokenIds: Int32Array.of(1),
        segments: [{ rows: 1, position: 0, blocks }],
        logitRows: Int32Array.of(0),
        ...batch,
      });
    await expect(step({})).rejects.toThrow(/block ids below 0/);
    runner.ensureBlocks(8);
    await expect(step({ tokenIds: Int32Array.of(1000) })).rejects.toThrow(/ids below/);
    await expect(step({ tokenIds: new Int32Array(41) })).rejects.toThrow(/1 to 40 tokens/);
    await expect(step({ segments: [{ rows: 1, position: 64, blocks }] })).rejects.toThrow(/5 cache blocks/);
    await runner.dispose();
    await expect(step({})).rejects.toMatchObject({ code: "ERR_DISPOSED" });
  });
});
