import { describe, expect, it } from "vitest";
import { seededRandom } from "../../test/mutate.ts";
import { openFiles } from "../../test/quantized-folder.ts";
import { ENCODINGS, type Encoding, LAYER, SIZES, shardableLlama, weightsOf } from "../../test/shardable-llama.ts";
import { encodeGptq } from "../formats/encodings/gptq.ts";
import { type OpenModel, openModel } from "../models/open-model.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import { type ModelShard, modelShard } from "./model-shard.ts";

const DOWN = `${LAYER}.mlp.down_proj.weight`;

const openLlama = async (encoding: Encoding, perOutput = false): Promise<OpenModel> =>
  openModel(await openFiles(shardableLlama(encoding, perOutput)));

const RANKS = [1, 2, 3, 4, 5, 6];
const shardsOf = (model: OpenModel, of: number): ModelShard[] =>
  Array.from({ length: of }, (_, rank) => modelShard(model, { rank, of }));

describe.each(Object.entries(ENCODINGS))("shards of a model as %s", (_, encoding) => {
  it.each(RANKS)("%i together hold every weight once, and keys and values where they are read", async (of) => {
    const model = await openLlama(encoding);
    const shards = shardsOf(model, of);
    for (const name of model.weights.layouts.keys()) {
      const truth = await weightsOf(model.weights.matrix(name));
      const times = truth.map((row) => new Uint8Array(row.length));
      for (const shard of shards) {
        const { parallel, first, end, taken, total } = shard.tensors.get(name)!;
        const source = shard.matrix(name);
        expect(parallel === "row" ? source.K : source.N).toBe(end - first);
        expect(total).toBe(parallel === "row" ? truth[0]!.length : truth.length);
        const at = (i: number): number => (taken ? taken[i]! : first + i);
        (await weightsOf(source)).forEach((row, n) => {
          row.forEach((w, k) => {
            const [N, K] = parallel === "row" ? [n, at(k)] : [at(n), k];
            if (w !== truth[N]![K]!) expect.fail(`${name}[${N}, ${K}] is ${w}, not ${truth[N]![K]}`);
            times[N]![K]!++;
          });
        });
      }
      const most = /[kv]_proj/.test(name) ? Math.ceil(of / Math.min(of, SIZES.kvHeads)) : 1;
      for (const row of times) for (const count of row) if (count < 1 || count > most) expect.fail(`${name}: ${count}`);
    }
  });

  it.each(RANKS)("%i add up to what the whole gives, through feed-forward and attention's output", async (of) => {
    const model = await openLlama(encoding);
    const random = seededRandom(of);
    const integers = (length: number): number[] => Array.from({ length }, () => Math.floor(random() * 15) - 7);
    const x = integers(SIZES.hidden);
    const attended = integers(SIZES.heads * SIZES.headSize);
    const run = async (
      source: { matrix(name: string): MatrixSource },
      heads: readonly number[],
    ): Promise<number[][]> => {
      const gate = times(await weightsOf(source.matrix(`${LAYER}.mlp.gate_proj.weight`)), x);
      return [
        times(await weightsOf(source.matrix(DOWN)), gate),
        times(await weightsOf(source.matrix(`${LAYER}.self_attn.o_proj.weight`)), heads),
      ];
    };
    const sums = [new Array<number>(SIZES.hidden).fill(0), new Array<number>(SIZES.hidden).fill(0)];
    for (const shard of shardsOf(model, of)) {
      const { first, end } = shard.share.heads;
      const parts = await run(shard, attended.slice(first * SIZES.headSize, end * SIZES.headSize));
      for (const [i, part] of parts.entries()) for (const [n, value] of part.entries()) sums[i]![n]! += value;
    }
    expect(sums).toEqual(await run(model.weights, attended));
  });
});

/** In f64: weights are some 10 bits and inputs integers, so that every sum is exact, whatever its order. */
function times(weights: readonly Float32Array[], x: readonly number[]): number[] {
  return weights.map((row) => row.reduce((sum, w, k) => sum + w * x[k]!, 0));
}

describe("a shard", () => {
  it("has one scale for each output where there was one, in every rank", async () => {
    const model = await openLlama(ENCODINGS["pack-quantized"]!, true);
    for (const shard of shardsOf(model, 4)) {
      const { like, K } = shard.matrix(DOWN);
      expect(like).toMatchObject({ kind: "quantized", groupSize: K });
    }
  });

  it("has biases of what it gives alone, and those of sums in rank 0, zeros elsewhere", async () => {
    const model = await openLlama(ENCODINGS.floats!);
    const [first, second] = shardsOf(model, 2);
    const [q, o] = [`${LAYER}.self_attn.q_proj.bias`, `${LAYER}.self_attn.o_proj.bias`];
    expect([...(await second!.vector(q))]).toEqual(Array.from({ length: 48 }, (_, i) => 49 + i));
    expect([...(await first!.vector(o))]).toEqual(Array.from({ length: 64 }, (_, i) => 1 + i));
    expect([...(await second!.vector(o))]).toEqual(new Array(64).fill(0));
    expect(second!.tensors.get(o)).toEqual({ parallel: "row", total: 64, first: 0, end: 0 });
    await expect(second!.vector(DOWN)).rejects.toMatchObject({ code: "ERR_MISSING" });
    expect(await second!.vector("model.norm.weight")).toEqual(await first!.vector("model.norm.weight"));
    expect(() => second!.matrix("nothing")).toThrow(/no such tensor/);
  });

  it("cuts where groups end, and says what of the whole it has", async () => {
    const model = await openLlama(ENCODINGS.cpu_int4!);
    expect(shardsOf(model, 3).map(({ share }) => share)).toEqual([
      {
        rank: 0,
        of: 3,
        heads: { first: 0, end: 2 },
        kvHeads: { first: 0, end: 1 },
        inner: { first: 0, end: 64 },
        vocabulary: { first: 0, end: 32 },
      },
      {
        rank: 1,
        of: 3,
        heads: { first: 2, end: 3 },
        kvHeads: { first: 0, end: 1 },
        inner: { first: 64, end: 128 },
        vocabulary: { first: 32, end: 64 },
      },
      {
        rank: 2,
        of: 3,
        heads: { first: 3, end: 6 },
        kvHeads: { first: 1, end: 2 },
        inner: { first: 128, end: 160 },
        vocabulary: { first: 64, end: 72 },
      },
    ]);
  });

  it.each([
    [{ rank: 2, of: 2 }, "ERR_ARGUMENT", /shard.rank: .*0 to 1, got 2/],
    [{ rank: 0, of: 0 }, "ERR_ARGUMENT", /shard.of/],
    [{ rank: 0.5, of: 2 }, "ERR_ARGUMENT", /shard.rank/],
    [{ rank: 0, of: 7 }, "ERR_UNSUPPORTED", /too few heads.*at most 6 ranks.*got 7/],
  ])("%j is refused", async (shard, code, message) => {
    const model = await openLlama(ENCODINGS.floats!);
    expect(() => modelShard(model, shard)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) }),
    );
  });

  it("is refused where heads of several ranks share a group of inputs", async () => {
    const all: Encoding = {
      ...ENCODINGS["GPTQ with act-order"]!,
      encode: (m) =>
        encodeGptq(
          m.matrix.K === 96 ? { ...m, inputOrder: Int32Array.from({ length: 96 }, (_, j) => (j * 5) % 96) } : m,
          "v1",
        ),
    };
    const model = await openLlama(all);
    expect(() => modelShard(model, { rank: 0, of: 1 })).not.toThrow();
    expect(() => modelShard(model, { rank: 0, of: 2 })).toThrow(/o_proj.*share a group.*act-order.*without act-order/);
  });
});
