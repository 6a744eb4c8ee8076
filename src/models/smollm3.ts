import type { Architecture } from "./architecture.ts";
import type { ConfigReader } from "./config-reader.ts";
import { decoderGraph } from "./decoder.ts";
import { huggingFaceDecoder, huggingFaceRope, layerCount, layersOf, slidingLayers } from "./hugging-face-config.ts";
import { MAX_LAYERS } from "./limits.ts";

/** SmolLM3: Llama in which every fourth layer knows no positions. */
export const smollm3: Architecture = {
  name: "smollm3",
  modelTypes: ["smollm3"],
  ggufNames: [],
  fromHuggingFace(config) {
    const shared = huggingFaceDecoder(config, { tie_word_embeddings: true, max_position_embeddings: 32_768 });
    const rope = huggingFaceRope(config, shared.headSize, {
      thetaKey: "rope_theta",
      scalingKey: "rope_scaling",
      defaultTheta: 2_000_000,
    });
    const count = layerCount(config);
    const windowed = config.boolean("use_sliding_window", false);
    const slides = slidingLayers(config, count, () => windowed);
    const turns = turningLayers(config, count);
    const attentionBias = config.boolean("attention_bias", false);
    return {
      ...shared,
      layers: layersOf(config, rope, slides).map((layer, l) => ({ ...layer, turns: turns[l]! })),
      biases: { qkv: attentionBias, output: attentionBias, mlp: config.boolean("mlp_bias", false) },
    };
  },
  graph: decoderGraph,
};

/** `no_rope_layers` has, despite its name, a 1 for each layer with a rotary embedding. */
function turningLayers(config: ConfigReader, count: number): boolean[] {
  const flags = config.array("no_rope_layers");
  const interval = config.count("no_rope_layer_interval", MAX_LAYERS, 4);
  if (!flags) return Array.from({ length: count }, (_, l) => (l + 1) % interval !== 0);
  if (flags.length === count && flags.every((flag) => flag === 0 || flag === 1)) return flags.map((flag) => flag === 1);
  throw config.unsupported("no_rope_layers", "anything but a 0 or 1 for each layer");
}
