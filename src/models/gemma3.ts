import { HalfbyteError } from "../errors.ts";
import type { RopeSpec } from "../plan/rope-table.ts";
import type { Architecture } from "./architecture.ts";
import type { ConfigReader } from "./config-reader.ts";
import { decoderGraph } from "./decoder.ts";
import type { DecoderConfig, LayerConfig } from "./decoder-config.ts";
import { type GgufModelFile, ggufDecoder } from "./gguf-config.ts";
import { huggingFaceDecoder, huggingFaceRope, layerCount, slidingLayers } from "./hugging-face-config.ts";
import * as limits from "./limits.ts";

/** Layers come in runs of five with a sliding window and one without. */
const PATTERN = 6;
const LOCAL_THETA = 10_000;
const GLOBAL_THETA = 1_000_000;

/** Gemma 3, the text part: four norms a layer, normed heads of q and k, two rotary bases. */
export const gemma3: Architecture = {
  name: "gemma3",
  modelTypes: ["gemma3_text", "gemma3"],
  ggufNames: ["gemma3"],
  fromHuggingFace(whole) {
    const config = whole.object("text_config") ?? whole;
    const shared = huggingFaceDecoder(config, {
      hidden_size: 2304,
      intermediate_size: 9216,
      num_attention_heads: 8,
      num_key_value_heads: 4,
      head_dim: 256,
      vocab_size: 262_208,
      max_position_embeddings: 131_072,
      tie_word_embeddings: true,
      activation: "gelu_pytorch_tanh",
    });
    const bias = config.boolean("attention_bias", false);
    return {
      ...shared,
      ...gemmaForm(shared.hiddenSize),
      normsPlusOne: true,
      attentionScale: config.positive("query_pre_attn_scalar", 256) ** -0.5,
      layers: huggingFaceLayers(config, shared.headSize),
      biases: { qkv: bias, output: bias, mlp: false },
    };
  },
  async fromGguf(file) {
    const config = await ggufDecoder(file, { pairing: "halves", gate: "gelu-tanh" });
    return {
      ...config,
      ...gemmaForm(config.hiddenSize),
      attentionScale: file.config.positive("attention.scale", ggufQueryScalar(config) ** -0.5),
      layers: await ggufLayers(file, config),
    };
  },
  graph: decoderGraph,
};

function gemmaForm(hiddenSize: number): Pick<DecoderConfig, "embeddingMultiplier" | "headNorms" | "postNorms"> {
  return { embeddingMultiplier: Math.sqrt(hiddenSize), headNorms: true, postNorms: true };
}

function huggingFaceLayers(config: ConfigReader, headSize: number): LayerConfig[] {
  const local = huggingFaceRope(config, headSize, {
    thetaKey: "rope_local_base_freq",
    layerType: "sliding_attention",
    defaultTheta: LOCAL_THETA,
  });
  const global = huggingFaceRope(config, headSize, {
    thetaKey: "rope_theta",
    scalingKey: "rope_scaling",
    layerType: "full_attention",
    defaultTheta: GLOBAL_THETA,
  });
  const key = config.has("_sliding_window_pattern") ? "_sliding_window_pattern" : "sliding_window_pattern";
  const pattern = config.count(key, limits.MAX_LAYERS, PATTERN);
  const slides = slidingLayers(config, layerCount(config, 26), (l) => (l + 1) % pattern !== 0);
  const window = config.count("sliding_window", limits.MAX_CONTEXT, 4096);
  return slides.map((sliding) => (sliding ? { rope: local, window } : { rope: global }));
}

/**
 * GGUF files have no key for `query_pre_attn_scalar`: it is the head size, but hidden size ÷ heads in the 27B model, the
 * one with 62 layers. Source: llama.cpp, src/llama-model.cpp, LLM_ARCH_GEMMA3.
 */
function ggufQueryScalar({ layers, hiddenSize, heads, headSize }: DecoderConfig): number {
  return layers.length === 62 ? hiddenSize / heads : headSize;
}

async function ggufLayers(file: GgufModelFile, { layers, headSize }: DecoderConfig): Promise<LayerConfig[]> {
  const { rope: global, window } = layers[0]!;
  if (window === undefined) return layers.map(() => ({ rope: global }));
  const local: RopeSpec = { rotary: headSize, base: file.config.positive("rope.freq_base_swa", LOCAL_THETA) };
  const key = "attention.sliding_window_pattern";
  const flags = Array.isArray(file.config.raw(key)) ? await file.numbers(key) : undefined;
  if (flags && flags.length !== layers.length)
    throw new HalfbyteError("ERR_SHAPE", "one flag for each layer is needed", {
      place: file.config.place(key),
      expected: String(layers.length),
      got: String(flags.length),
    });
  const pattern = flags ? PATTERN : file.config.count(key, limits.MAX_LAYERS, PATTERN);
  return layers.map((_, l) => {
    const sliding = flags ? flags[l] !== 0 : (l + 1) % pattern !== 0;
    return sliding ? { rope: local, window } : { rope: global };
  });
}
