import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { relativeError } from "../src/evaluate/layer-states.ts";
import { type LoadedShard, loadModel } from "../src/index.ts";
import { goldenPath } from "./golden-data.ts";
import { FLOAT_TOLERANCE } from "./models-golden/check-model.ts";
import { goldenTensors } from "./models-golden/golden-tensors.ts";
import { logitsOfRanks } from "./shard-steps.ts";

const own = (name: string): string => fileURLToPath(new URL(`golden/${name}`, import.meta.url));

/** Tokens of the golden prompt that are enough to see sliding windows end. */
const TOKENS = 12;

async function expectGoldenLogits(model: string, golden: string, of: number): Promise<void> {
  const shards: LoadedShard[] = [];
  for (let rank = 0; rank < of; rank++) shards.push(await loadModel(model, { shard: { rank, of } }));
  const truth = await goldenTensors(golden);
  const [length, vocabulary] = [truth.get("input_ids")!.shape[1]!, truth.get("logits")!.shape[2]!];
  const all = truth.get("logits")!.values;
  // Own golden files have the last positions alone.
  const positions = truth.get("logits")!.shape[1]!;
  const count = positions === length ? TOKENS : length;
  const logits = await logitsOfRanks(shards, truth.get("input_ids")!.values.subarray(0, count));
  const compared = Math.min(count, positions);
  const got = Float64Array.from(logits.slice(-compared).flatMap((row) => [...row]));
  expect(relativeError(got, all.subarray(0, compared * vocabulary))).toBeLessThan(FLOAT_TOLERANCE);
  for (const shard of shards) await shard.close();
}

describe("the ranks of a model that add up their parts", () => {
  it.each(["llama", "gemma3"].flatMap((name) => [1, 2, 3].map((of) => [name, of] as const)))(
    "give %s's logits, %i of them",
    async (name, of) => {
      const gguf = own(`${name}-q4_0.gguf`);
      await expectGoldenLogits(gguf, own(`${name}-q4_0.golden.safetensors`), of);
    },
  );

  const tiny = goldenPath("golden-models", "tiny");
  const title = tiny ? "all golden models" : "all golden models (skipped: ../shared/golden-models is not here)";
  describe.skipIf(!tiny)(title, () => {
    const models = [
      "llama_bias_linear",
      "mistral_swa",
      "qwen2",
      "gemma3_scalar",
      "gemma2",
      "granite",
      "phi3",
      "smollm3",
      "spark2_5",
    ];
    it.each(models.flatMap((name) => [2, 3].map((of) => [name, of] as const)))("%s, %i ranks", async (name, of) => {
      await expectGoldenLogits(join(tiny!, name), join(tiny!, name, "golden.safetensors"), of);
    });

    it("olmo2 is refused: its norms go over numbers of all ranks", async () => {
      await expect(loadModel(join(tiny!, "olmo2"), { shard: { rank: 0, of: 2 } })).rejects.toMatchObject({
        code: "ERR_UNSUPPORTED",
        message: expect.stringMatching(/k_norm.*a norm over numbers that stand in different ranks/),
      });
    });

    const twins = ["cpu_int4", "cpu_int4_embed", "compressed_tensors"];
    it.each(twins)("qwen3 as %s, 2 and 3 ranks", async (kind) => {
      const folder = goldenPath("golden-models", "twins", "qwen3", kind)!;
      for (const of of [2, 3]) await expectGoldenLogits(folder, join(folder, "golden.safetensors"), of);
    });
  });
});

describe("loadModel with a shard", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "shards-"));
    await copyFile(own("llama-q4_0.gguf"), join(folder, "model.gguf"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it("takes bytes as well as paths, and refuses ranks that are none before it opens anything", async () => {
    const path = join(folder, "model.gguf");
    await using shard = await loadModel(path, { shard: { rank: 1, of: 3 } });
    expect(shard.share.heads).toEqual({ first: 1, end: 2 });
    await expect(loadModel(new Uint8Array(3), { shard: { rank: 3, of: 3 } })).rejects.toMatchObject({
      code: "ERR_ARGUMENT",
      place: "shard.rank",
    });
    await expect(loadModel(path, { shard: null as never })).rejects.toMatchObject({ code: "ERR_ARGUMENT" });
  });
});
