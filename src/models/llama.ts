import type { Architecture } from "./architecture.ts";
import { decoderGraph } from "./decoder.ts";
import { ggufDecoder } from "./gguf-config.ts";
import { huggingFaceDecoder, huggingFaceRope, layerCount, layersOf, slidingLayers } from "./hugging-face-config.ts";
import { MAX_HEADS } from "./limits.ts";

/**
 * Llama 1 to 3, SmolLM2, and what calls itself llama in GGUF, which includes Mistral. GGUF files have the rows of q and k
 * reordered so that neighbouring dims turn together.
 */
export const llama: Architecture = {
  name: "llama",
  modelTypes: ["llama"],
  ggufNames: ["llama"],
  fromHuggingFace(config) {
    const heads = config.count("num_attention_heads", MAX_HEADS);
    const shared = huggingFaceDecoder(config, { max_position_embeddings: 2048, num_key_value_heads: heads });
    const rope = huggingFaceRope(config, shared.headSize, plainRope);
    const attentionBias = config.boolean("attention_bias", false);
    return {
      ...shared,
      layers: layersOf(
        config,
        rope,
        slidingLayers(config, layerCount(config), () => false),
      ),
      biases: { qkv: attentionBias, output: attentionBias, mlp: config.boolean("mlp_bias", false) },
    };
  },
  fromGguf: (file) => ggufDecoder(file, { pairing: "neighbours", gate: "silu" }),
  graph: decoderGraph,
};

const plainRope = { thetaKey: "rope_theta", scalingKey: "rope_scaling", defaultTheta: 10_000 };
