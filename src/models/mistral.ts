import type { Architecture } from "./architecture.ts";
import { decoderGraph } from "./decoder.ts";
import { huggingFaceDecoder, huggingFaceRope, layerCount, layersOf, slidingLayers } from "./hugging-face-config.ts";

/** Mistral: Llama with a sliding window in every layer. In GGUF it goes by the name of llama. */
export const mistral: Architecture = {
  name: "mistral",
  modelTypes: ["mistral"],
  ggufNames: [],
  fromHuggingFace(config) {
    const shared = huggingFaceDecoder(config, { max_position_embeddings: 131_072 });
    const rope = huggingFaceRope(config, shared.headSize, plainRope);
    const slides = slidingLayers(config, layerCount(config), () => !config.isNull("sliding_window"));
    return { ...shared, layers: layersOf(config, rope, slides), biases: { qkv: false, output: false, mlp: false } };
  },
  graph: decoderGraph,
};

const plainRope = { thetaKey: "rope_theta", scalingKey: "rope_scaling", defaultTheta: 10_000 };
