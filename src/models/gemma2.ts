import type { Architecture } from "./architecture.ts";
import type { ConfigReader } from "./config-reader.ts";
import { decoderGraph } from "./decoder.ts";
import { huggingFaceDecoder, huggingFaceRope, layerCount, layersOf, slidingLayers } from "./hugging-face-config.ts";

const CAPS = ["attn_logit_softcapping", "final_logit_softcapping"] as const;

/** Gemma 2: four norms a layer, scores and logits held by tanh, a sliding window in every other layer. */
export const gemma2: Architecture = {
  name: "gemma2",
  modelTypes: ["gemma2"],
  ggufNames: [],
  fromHuggingFace(config) {
    const shared = huggingFaceDecoder(config, {
      hidden_size: 2304,
      intermediate_size: 9216,
      num_attention_heads: 8,
      num_key_value_heads: 4,
      head_dim: 256,
      vocab_size: 256_000,
      max_position_embeddings: 8192,
      tie_word_embeddings: true,
      activation: "gelu_pytorch_tanh",
      reads: CAPS,
    });
    const rope = huggingFaceRope(config, shared.headSize, {
      thetaKey: "rope_theta",
      scalingKey: "rope_scaling",
      defaultTheta: 10_000,
    });
    const bias = config.boolean("attention_bias", false);
    const slides = slidingLayers(config, layerCount(config, 26), (l) => l % 2 === 0);
    const [attentionCap, logitCap] = [cap(config, CAPS[0], 50), cap(config, CAPS[1], 30)];
    return {
      ...shared,
      embeddingMultiplier: Math.sqrt(shared.hiddenSize),
      postNorms: true,
      normsPlusOne: true,
      attentionScale: config.positive("query_pre_attn_scalar", 256) ** -0.5,
      layers: layersOf(config, rope, slides),
      biases: { qkv: bias, output: bias, mlp: false },
      ...(attentionCap !== undefined && { attentionCap }),
      ...(logitCap !== undefined && { logitCap }),
    };
  },
  graph: decoderGraph,
};

/** Null says that there is none. */
function cap(config: ConfigReader, key: string, absent: number): number | undefined {
  return config.isNull(key) ? undefined : config.positive(key, absent);
}
