import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HalfbyteError } from "../errors.ts";
import { ConfigReader } from "./config-reader.ts";
import type { DecoderConfig } from "./decoder-config.ts";
import { architectureOfGguf, architectureOfModelType, architectures } from "./registry.ts";

/** Factors for the eight frequencies of heads of 16. */
const ones = new Array(8).fill(1);
const zeros = new Array(8).fill(0);

const base = {
  hidden_size: 64,
  intermediate_size: 160,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  vocab_size: 512,
  max_position_embeddings: 256,
  rms_norm_eps: 1e-5,
};

function read(model_type: string, changes: Record<string, unknown> = {}): DecoderConfig {
  const config: Record<string, unknown> = { model_type, ...base, ...changes };
  const reader = new ConfigReader("config.json", (key) => config[key]);
  return architectureOfModelType(model_type, "config.json").fromHuggingFace(reader);
}

const refusal = (code: string, key: string): unknown =>
  expect.objectContaining({ code, place: expect.stringContaining(`"${key}"`) });

describe("the registry", () => {
  it("refuses what it does not know, by name, with what it knows", () => {
    const refused = { code: "ERR_UNKNOWN_ARCHITECTURE", message: expect.stringMatching(/"gemma9".*llama/) };
    expect(() => architectureOfGguf("gemma9", "a.gguf")).toThrow(expect.objectContaining(refused));
    expect(() => architectureOfModelType("gemma9", "config.json")).toThrow(expect.objectContaining(refused));
  });

  it("has no name twice", () => {
    for (const names of [architectures.flatMap((a) => a.modelTypes), architectures.flatMap((a) => a.ggufNames)])
      expect(new Set(names).size).toBe(names.length);
  });
});

describe("config.json", () => {
  it("reads rotary scaling in every spelling", () => {
    const llama3 = { factor: 8, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 64 };
    const scaling = { type: "llama3", factor: 8, lowFrequencyFactor: 1, highFrequencyFactor: 4, originalContext: 64 };
    const rope = { rotary: 16, base: 5e5, scaling };
    for (const changes of [
      { rope_theta: 5e5, rope_scaling: { rope_type: "llama3", ...llama3 } },
      { rope_theta: 5e5, rope_scaling: { type: "llama3", ...llama3 } },
      { rope_parameters: { rope_theta: 5e5, rope_type: "llama3", ...llama3 } },
    ])
      expect(read("llama", changes).layers[1]).toEqual({ rope });
    expect(read("llama").layers[0]).toEqual({ rope: { rotary: 16, base: 1e4 } });
  });

  it("gives Mistral a window in every layer unless it is null", () => {
    expect(read("mistral", { sliding_window: 16 }).layers.map((l) => l.window)).toEqual([16, 16]);
    expect(read("mistral", { sliding_window: null }).layers.map((l) => l.window)).toEqual([undefined, undefined]);
    expect(read("mistral").layers[0]?.window).toBe(4096);
  });

  it("gives Qwen a window from max_window_layers on, where it uses one", () => {
    const windows = (changes: object): unknown => read("qwen2", { ...changes }).layers.map((l) => l.window);
    expect(windows({ sliding_window: 8, max_window_layers: 1 })).toEqual([undefined, undefined]);
    expect(windows({ sliding_window: 8, max_window_layers: 1, use_sliding_window: true })).toEqual([undefined, 8]);
    expect(windows({ sliding_window: 8, max_window_layers: 0, use_sliding_window: true })).toEqual([8, 8]);
  });

  it("finds Gemma's text part inside a model that also sees, and fills in what its config leaves out", () => {
    const text = { hidden_size: 2560, num_hidden_layers: 34, sliding_window: 1024, intermediate_size: 10_240 };
    const whole = { model_type: "gemma3", architectures: ["Gemma3ForConditionalGeneration"], text_config: text };
    const reader = new ConfigReader("config.json", (key) => whole[key as keyof typeof whole]);
    const config = architectureOfModelType("gemma3", "").fromHuggingFace(reader);
    expect(config).toMatchObject({ heads: 8, kvHeads: 4, headSize: 256, vocabularySize: 262_208, tiedOutput: true });
    expect(config.layers.map((l) => l.window === undefined).flatMap((full, l) => (full ? [l] : []))).toEqual([
      5, 11, 17, 23, 29,
    ]);
  });

  it.each<[string, string, Record<string, unknown>, string]>([
    ["ERR_UNSUPPORTED", "rope_type", { rope_parameters: { rope_type: "proportional", factor: 4 } }, "qwen2"],
    ["ERR_MISSING", "factor", { rope_parameters: { rope_type: "yarn" } }, "qwen2"],
    ["ERR_FORMAT", "beta_fast", { rope_scaling: { rope_type: "yarn", factor: 4, beta_fast: 0 } }, "llama"],
    ["ERR_MISSING", "short_factor", { rope_scaling: { rope_type: "longrope" } }, "phi3"],
    ["ERR_FORMAT", "short_factor", { rope_scaling: { type: "su", short_factor: [1, 2] } }, "phi3"],
    ["ERR_FORMAT", "long_factor", { rope_scaling: { type: "su", short_factor: ones, long_factor: zeros } }, "phi3"],
    ["ERR_UNSUPPORTED", "partial_rotary_factor", { partial_rotary_factor: 0.1 }, "phi3"],
    ["ERR_UNSUPPORTED", "no_rope_layers", { no_rope_layers: [1, 2] }, "smollm3"],
    ["ERR_UNSUPPORTED", "no_rope_layers", { no_rope_layers: [1] }, "smollm3"],
    ["ERR_FORMAT", "logits_scaling", { logits_scaling: 0 }, "granite"],
    ["ERR_FORMAT", "attn_logit_softcapping", { attn_logit_softcapping: -1 }, "gemma2"],
    ["ERR_MISSING", "sliding_window", {}, "spark2_5"],
    ["ERR_UNSUPPORTED", "type", { rope_scaling: { type: "dynamic", factor: 2 } }, "llama"],
    ["ERR_MISSING", "factor", { rope_scaling: { type: "linear" } }, "llama"],
    ["ERR_FORMAT", "factor", { rope_scaling: { type: "linear", factor: 0 } }, "llama"],
    ["ERR_FORMAT", "rope_scaling", { rope_scaling: 4 }, "llama"],
    ["ERR_FORMAT", "rope_theta", { rope_theta: -1 }, "llama"],
    ["ERR_UNSUPPORTED", "partial_rotary_factor", { partial_rotary_factor: 0.5 }, "llama"],
    ["ERR_UNSUPPORTED", "num_experts", { num_experts: 8 }, "qwen3"],
    ["ERR_UNSUPPORTED", "final_logit_softcapping", { final_logit_softcapping: 30 }, "gemma3_text"],
    ["ERR_UNSUPPORTED", "use_bidirectional_attention", { use_bidirectional_attention: true }, "gemma3_text"],
    ["ERR_UNSUPPORTED", "hidden_act", { hidden_act: "relu2" }, "llama"],
    ["ERR_UNSUPPORTED", "architectures", { architectures: ["LlamaForSequenceClassification"] }, "llama"],
    ["ERR_UNSUPPORTED", "layer_types", { layer_types: ["full_attention", "chunked_attention"] }, "qwen3"],
    ["ERR_SHAPE", "layer_types", { layer_types: ["full_attention"] }, "qwen3"],
    ["ERR_SHAPE", "num_attention_heads", { num_key_value_heads: 3 }, "llama"],
    ["ERR_SHAPE", "num_attention_heads", { head_dim: 15 }, "llama"],
    ["ERR_FORMAT", "hidden_size", { hidden_size: "64" }, "llama"],
    ["ERR_FORMAT", "hidden_size", { hidden_size: 63.5 }, "llama"],
    ["ERR_FORMAT", "num_hidden_layers", { num_hidden_layers: 0 }, "llama"],
    ["ERR_LIMIT", "num_hidden_layers", { num_hidden_layers: 1e9 }, "llama"],
    ["ERR_LIMIT", "vocab_size", { vocab_size: 2 ** 40 }, "llama"],
    ["ERR_MISSING", "hidden_size", { hidden_size: null }, "llama"],
    ["ERR_MISSING", "num_key_value_heads", { num_key_value_heads: undefined }, "qwen3"],
  ])("refuses with %s at %s: %o (%s)", (code, key, changes, modelType) => {
    expect(() => read(modelType, changes)).toThrow(refusal(code, key) as Error);
  });

  it("gives a usable config or a typed error, whatever the values", () => {
    const keys = [...Object.keys(base), "head_dim", "rope_theta", "rope_scaling", "rope_parameters", "layer_types"];
    keys.push("sliding_window", "query_pre_attn_scalar", "tie_word_embeddings", "hidden_act", "sliding_window_pattern");
    const value = fc.oneof(
      fc.integer(),
      fc.double(),
      fc.constantFrom(null, undefined, true, "silu", "default", 0, -1, 64, 1e308, Number.NaN),
      fc.jsonValue({ maxDepth: 2 }),
    );
    const changes = fc.dictionary(fc.constantFrom(...keys), value, { maxKeys: 4 });
    const types = fc.constantFrom("llama", "mistral", "gemma3_text", "qwen2", "qwen3");
    fc.assert(
      fc.property(types, changes, (type, change) => {
        try {
          const config = read(type, change);
          expect(config.heads % config.kvHeads).toBe(0);
          expect(config.headSize % 2).toBe(0);
          expect(config.layers.length).toBeLessThanOrEqual(1024);
          expect(config.attentionScale).toBeGreaterThan(0);
          expect(Number.isFinite(config.embeddingMultiplier)).toBe(true);
        } catch (error) {
          if (!(error instanceof HalfbyteError)) throw error;
          expect(error.place).toBeDefined();
        }
      }),
      { numRuns: 2000 },
    );
  });
});
