import type { Architecture } from "./architecture.ts";
import { decoderGraph } from "./decoder.ts";
import { huggingFaceDecoder, huggingFaceRope, layerCount, layersOf, slidingLayers } from "./hugging-face-config.ts";
import { MAX_HEADS } from "./limits.ts";

/** Granite 3, dense: Llama with four multipliers. */
export const granite: Architecture = {
  name: "granite",
  modelTypes: ["granite"],
  ggufNames: [],
  fromHuggingFace(config) {
    const heads = config.count("num_attention_heads", MAX_HEADS);
    const shared = huggingFaceDecoder(config, { max_position_embeddings: 2048, num_key_value_heads: heads });
    const rope = huggingFaceRope(config, shared.headSize, {
      thetaKey: "rope_theta",
      scalingKey: "rope_scaling",
      defaultTheta: 10_000,
    });
    const attentionBias = config.boolean("attention_bias", false);
    const slides = slidingLayers(config, layerCount(config), () => false);
    return {
      ...shared,
      embeddingMultiplier: config.positive("embedding_multiplier", 1),
      residualMultiplier: config.positive("residual_multiplier", 1),
      attentionScale: config.positive("attention_multiplier", 1),
      logitMultiplier: 1 / config.positive("logits_scaling", 1),
      layers: layersOf(config, rope, slides),
      biases: { qkv: attentionBias, output: attentionBias, mlp: config.boolean("mlp_bias", false) },
    };
  },
  graph: decoderGraph,
};
