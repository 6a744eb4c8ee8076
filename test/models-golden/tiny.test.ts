import { describe, expect, it } from "vitest";
import { relativeError } from "../../src/evaluate/layer-states.ts";
import { goldenPath } from "../golden-data.ts";
import {
  A16_TOLERANCE,
  expectGolden,
  expectGoldenStates,
  expectGoldenWithF16Cache,
  FLOAT_TOLERANCE,
} from "./check-model.ts";
import { goldenTensors } from "./golden-tensors.ts";
import { load, openFolder, openGgufFile } from "./run-model.ts";

const FLOAT_MODELS = [
  "llama",
  "llama3_rope",
  "llama_bias_linear",
  "mistral_swa",
  "qwen2",
  "qwen3",
  "gemma3",
  "gemma3_scalar",
  "gemma2",
  "phi3",
  "phi3_longrope",
  "smollm3",
  "olmo2",
  "granite",
  "qwen2_yarn",
];
const TWINS = [
  ...["llama", "qwen3", "gemma3"].flatMap((name) => ["f16", "q8_0", "q4_0"].map((kind) => [name, kind] as const)),
  ["llama_k256", "q4_k_m"] as const,
  ["llama_k256", "mixed"] as const,
];
const QUANTIZED = ["cpu_int4", "cpu_int4_embed", "compressed_tensors"];
const UNKNOWN = ["qwen3_moe", "mixtral"];

const here = goldenPath("golden-models", "tiny") !== undefined;
const title = here ? "tiny models" : "tiny models (skipped: ../shared/golden-models is not here)";

describe.skipIf(!here)(title, () => {
  describe.each(FLOAT_MODELS)("%s from safetensors", (name) => {
    const folder = goldenPath("golden-models", "tiny", name)!;
    it.each(["config.json", "config.v4.json"])("gives the float truth's logits and text, by %s", async (config) => {
      await expectGolden(await openFolder(folder, config), `${folder}/golden.safetensors`, FLOAT_TOLERANCE);
    });
  });

  it.each(["llama_bias_linear", "gemma3"])("%s has the truth's residual stream after every layer", async (name) => {
    const folder = goldenPath("golden-models", "tiny", name)!;
    await expectGoldenStates(await openFolder(folder), `${folder}/golden.safetensors`);
  });

  it.each(TWINS)("%s as GGUF %s gives the truth's logits and text in A16", async (name, kind) => {
    const path = goldenPath("golden-models", "twins", name, "gguf", `${name}-${kind}.gguf`)!;
    const golden = path.replace(/gguf$/, "golden.safetensors");
    const model = await openGgufFile(path);
    await expectGolden(model, golden, kind === "f16" ? FLOAT_TOLERANCE : A16_TOLERANCE);
    await expectGoldenWithF16Cache(model, golden);
  });

  it.each(UNKNOWN)("refuses %s by name, and says what it knows", async (name) => {
    const folder = goldenPath("golden-models", "tiny", name)!;
    await expect(openFolder(folder)).rejects.toMatchObject({
      code: "ERR_UNKNOWN_ARCHITECTURE",
      message: expect.stringMatching(/llama, mistral, gemma3_text, gemma3, qwen2, qwen3/),
    });
  });

  it("phi3 turns heads by its short factors where the context is short", async () => {
    const folder = goldenPath("golden-models", "tiny", "phi3_longrope")!;
    const truth = await goldenTensors(`${folder}/golden.safetensors`);
    const ids = truth.get("short_input_ids")!.values;
    const run = async (contextLength: number): Promise<number> => {
      const model = await openFolder(folder, "config.json", { contextLength });
      const sequence = await load(model, 32, { activations: "a16", cacheType: "f32", maxRows: 32, maxLogitRows: 32 });
      return relativeError(await sequence.feed(ids, "all"), truth.get("short_logits")!.values);
    };
    expect(await run(32)).toBeLessThan(FLOAT_TOLERANCE);
    expect(await run(33)).toBeGreaterThan(FLOAT_TOLERANCE);
  });

  it("spark2_5 gives the float truth's logits and text", async () => {
    const folder = goldenPath("golden-models", "tiny", "spark2_5")!;
    await expectGolden(await openFolder(folder), `${folder}/golden.safetensors`, FLOAT_TOLERANCE);
  });

  it.each(["cpu_int4", "cpu_int4_embed"])("spark2_5 as %s gives the truth's logits and text in A16", async (kind) => {
    const folder = goldenPath("golden-models", "twins", "spark2_5", kind)!;
    const model = await openFolder(folder);
    await expectGolden(model, `${folder}/golden.safetensors`, A16_TOLERANCE);
    expect(model.weights.unused).toEqual([]);
    expect(model.notes).toEqual([
      expect.stringMatching(/^nothing to steer here/),
      expect.stringMatching(/^floats, though the configuration has it quantised: .*g_proj/),
    ]);
  });

  it.each(["llama", "qwen3", "gemma3"].flatMap((name) => QUANTIZED.map((kind) => [name, kind] as const)))(
    "%s as %s gives the truth's logits and text in A16",
    async (name, kind) => {
      const folder = goldenPath("golden-models", "twins", name, kind)!;
      const model = await openFolder(folder);
      await expectGolden(model, `${folder}/golden.safetensors`, A16_TOLERANCE);
      await expectGoldenWithF16Cache(model, `${folder}/golden.safetensors`);
      expect(model.weights.unused).toEqual([]);
      expect(model.notes).toEqual(
        kind === "compressed_tensors"
          ? []
          : [expect.stringMatching(/^nothing to steer here.*"prefill_dequant".*and 1 more/)],
      );
    },
  );
});
