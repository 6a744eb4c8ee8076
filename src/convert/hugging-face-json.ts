import { HalfbyteError } from "../errors.ts";
import type { GgufMetadata } from "../formats/gguf/metadata.ts";
import type { JsonObject } from "../formats/json.ts";
import type { DecoderConfig } from "../models/decoder-config.ts";
import { type RopeScaling, type RopeSpec, ropeDivisors } from "../plan/rope-table.ts";

/** transformers' class and `model_type` of an architecture. */
const CLASSES: Readonly<Record<string, readonly [modelType: string, className: string]>> = {
  llama: ["llama", "LlamaForCausalLM"],
  mistral: ["mistral", "MistralForCausalLM"],
  gemma3: ["gemma3_text", "Gemma3ForCausalLM"],
  qwen2: ["qwen2", "Qwen2ForCausalLM"],
  qwen3: ["qwen3", "Qwen3ForCausalLM"],
};

const FLOAT_NAMES: Readonly<Record<string, string>> = { f16: "float16", bf16: "bfloat16", f32: "float32" };

/** config.json of a decoder, in the spelling of transformers 4, which version 5 reads too. Throws ERR_UNSUPPORTED. */
export function configJson(
  architecture: string,
  config: DecoderConfig,
  metadata: GgufMetadata,
  target: string,
): JsonObject {
  const windowed = config.layers.some(({ window }) => window !== undefined);
  // GGUF has one name for both, and transformers has windows in one of the two alone.
  const name = architecture === "llama" && windowed && !config.biases.qkv ? "mistral" : architecture;
  const [modelType, className] = CLASSES[name] ?? refuse(`the architecture ${name}`);
  const { layers, biases } = config;
  const global = layers.find(({ window }) => window === undefined) ?? layers[0]!;
  const sliding = layers.find(({ window }) => window !== undefined);
  const id = (key: string): number | null => metadata.number(`tokenizer.ggml.${key}_token_id`, null);
  const isGemma = name === "gemma3";
  return {
    architectures: [className],
    model_type: modelType,
    vocab_size: config.vocabularySize,
    hidden_size: config.hiddenSize,
    intermediate_size: config.innerSize,
    num_hidden_layers: layers.length,
    num_attention_heads: config.heads,
    num_key_value_heads: config.kvHeads,
    head_dim: config.headSize,
    [isGemma ? "hidden_activation" : "hidden_act"]: isGemma ? "gelu_pytorch_tanh" : "silu",
    max_position_embeddings: config.contextLength,
    rms_norm_eps: shortest(config.normEps),
    rope_theta: shortest(global.rope.base),
    rope_scaling: scalingJson(global.rope),
    tie_word_embeddings: config.tiedOutput,
    attention_bias: name === "qwen2" ? undefined : biases.qkv,
    ...(name === "llama" && { mlp_bias: biases.mlp }),
    ...(name === "mistral" && { sliding_window: sliding!.window }),
    ...(isGemma && gemmaKeys(config, sliding)),
    ...(name.startsWith("qwen") && { use_sliding_window: windowed }),
    ...(name.startsWith("qwen") && windowed && { sliding_window: sliding!.window, max_window_layers: 0 }),
    bos_token_id: id("bos"),
    eos_token_id: id("eos"),
    pad_token_id: id("padding"),
    torch_dtype: FLOAT_NAMES[target] ?? (target === "cpu_int4" ? "bfloat16" : "float16"),
  };
}

function gemmaKeys(
  { layers, attentionScale }: DecoderConfig,
  sliding: DecoderConfig["layers"][0] | undefined,
): JsonObject {
  return {
    query_pre_attn_scalar: shortest(attentionScale ** -2),
    layer_types: layers.map(({ window }) => (window === undefined ? "full_attention" : "sliding_attention")),
    ...(sliding && { sliding_window: sliding.window, rope_local_base_freq: shortest(sliding.rope.base) }),
  };
}

/** Scalings that released models have and GGUF files say by divisors alone: Llama 3.1, and 3.2 in its small sizes. */
const LLAMA3_FACTORS = [8, 32];

function scalingJson(rope: RopeSpec): JsonObject | null {
  const { scaling } = rope;
  if (!scaling) return null;
  if (scaling.type === "linear") return { rope_type: "linear", factor: shortest(scaling.factor) };
  const divisors = Float32Array.from(ropeDivisors(rope));
  for (const factor of LLAMA3_FACTORS) {
    const known: RopeScaling = {
      type: "llama3",
      factor,
      lowFrequencyFactor: 1,
      highFrequencyFactor: 4,
      originalContext: 8192,
    };
    const same = Float32Array.from(ropeDivisors({ ...rope, scaling: known })).every((d, i) => close(d, divisors[i]!));
    if (!same) continue;
    return {
      rope_type: "llama3",
      factor,
      low_freq_factor: 1,
      high_freq_factor: 4,
      original_max_position_embeddings: 8192,
    };
  }
  return refuse("divisors of rotary frequencies that are not those of Llama 3");
}

/** Divisors are computed in f32 by some writers. */
const DIVISOR_TOLERANCE = 1e-5;

function close(a: number, b: number): boolean {
  return Math.abs(a - b) <= DIVISOR_TOLERANCE * Math.abs(b);
}

/** The shortest decimal of a number that came out of an f32: 0.00001 and not 0.000009999999747378752. */
function shortest(value: number): number {
  for (let digits = 1; digits <= 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === Math.fround(value)) return short;
  }
  return value;
}

function refuse(what: string): never {
  throw new HalfbyteError("ERR_UNSUPPORTED", `config.json has no word for ${what}`, { place: "config.json" });
}
