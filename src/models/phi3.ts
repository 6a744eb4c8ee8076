import type { Architecture } from "./architecture.ts";
import { decoderGraph } from "./decoder.ts";
import { huggingFaceDecoder, huggingFaceRope, layerCount, layersOf, slidingLayers } from "./hugging-face-config.ts";
import { MAX_HEADS } from "./limits.ts";

/** Phi-3 and Phi-4 mini: q, k and v in one tensor, gate and up in another, and a rotary embedding made longer by factors. */
export const phi3: Architecture = {
  name: "phi3",
  modelTypes: ["phi3"],
  ggufNames: [],
  fromHuggingFace(config) {
    const heads = config.count("num_attention_heads", MAX_HEADS);
    const shared = huggingFaceDecoder(config, {
      max_position_embeddings: 4096,
      num_key_value_heads: heads,
      reads: ["partial_rotary_factor"],
    });
    const rope = huggingFaceRope(config, shared.headSize, {
      thetaKey: "rope_theta",
      scalingKey: "rope_scaling",
      defaultTheta: 10_000,
      partial: 1,
    });
    const windowed = config.has("sliding_window");
    const slides = slidingLayers(config, layerCount(config), () => windowed);
    return {
      ...shared,
      normEps: config.positive("rms_norm_eps", 1e-5),
      layers: layersOf(config, rope, slides),
      biases: { qkv: false, output: false, mlp: false },
    };
  },
  graph: decoderGraph,
};
