import type { Architecture } from "./architecture.ts";
import { decoderGraph } from "./decoder.ts";
import { huggingFaceDecoder, huggingFaceRope, layerCount, layersOf, slidingLayers } from "./hugging-face-config.ts";
import { MAX_HEADS } from "./limits.ts";

/** OLMo 2: norms behind attention and feed-forward in place of before them, and over all of q and all of k. */
export const olmo2: Architecture = {
  name: "olmo2",
  modelTypes: ["olmo2"],
  ggufNames: [],
  fromHuggingFace(config) {
    const heads = config.count("num_attention_heads", MAX_HEADS);
    const shared = huggingFaceDecoder(config, { max_position_embeddings: 2048, num_key_value_heads: heads });
    const rope = huggingFaceRope(config, shared.headSize, {
      thetaKey: "rope_theta",
      scalingKey: "rope_scaling",
      defaultTheta: 10_000,
    });
    const bias = config.boolean("attention_bias", false);
    const slides = slidingLayers(config, layerCount(config), () => false);
    return {
      ...shared,
      normEps: config.positive("rms_norm_eps", 1e-5),
      headNorms: "whole",
      preNorms: false,
      postNorms: true,
      layers: layersOf(config, rope, slides),
      biases: { qkv: bias, output: bias, mlp: false },
    };
  },
  graph: decoderGraph,
};
