import type { Architecture } from "./architecture.ts";
import type { ConfigReader } from "./config-reader.ts";
import { decoderGraph } from "./decoder.ts";
import type { LayerConfig } from "./decoder-config.ts";
import { huggingFaceDecoder, huggingFaceRope, layerCount, slidingLayers } from "./hugging-face-config.ts";
import { MAX_CONTEXT } from "./limits.ts";

/** One layer in so many has no window. */
const PATTERN = 4;

/**
 * Spark X2.5: gated heads, sliding and full layers with rotary embeddings of their own, names of its own. Source: the PyPI
 * package vllm-spark2-5-plugin 0.1.0.
 */
export const spark: Architecture = {
  name: "spark2_5",
  modelTypes: ["spark2_5"],
  ggufNames: [],
  renamed: {
    embed_tokens: "embedding",
    "self_attn.qkv_proj": "self_attn.q_k_v_proj",
    "self_attn.o_proj": "self_attn.out_proj",
  },
  fromHuggingFace(config) {
    const shared = huggingFaceDecoder(config, { activation: "gelu", reads: ["partial_rotary_factor"] });
    return {
      ...shared,
      headGates: config.boolean("headwise_attn_output_gate", false),
      layers: sparkLayers(config, shared.headSize),
      biases: { qkv: false, output: false, mlp: false },
    };
  },
  graph: decoderGraph,
};

function sparkLayers(config: ConfigReader, headSize: number): LayerConfig[] {
  const full = huggingFaceRope(config, headSize, {
    layerType: "full_attention",
    defaultTheta: 5_000_000,
    partial: 0.25,
  });
  const local = huggingFaceRope(config, headSize, {
    layerType: "sliding_attention",
    defaultTheta: 10_000,
    partial: 1,
  });
  const slides = slidingLayers(config, layerCount(config), (l) => (l + 1) % PATTERN !== 0);
  const window = slides.includes(true) ? config.count("sliding_window", MAX_CONTEXT) : undefined;
  return slides.map((sliding) => (sliding && window !== undefined ? { rope: local, window } : { rope: full }));
}
