import type { Architecture } from "./architecture.ts";
import type { ConfigReader } from "./config-reader.ts";
import { decoderGraph } from "./decoder.ts";
import type { DecoderConfig } from "./decoder-config.ts";
import { ggufDecoder } from "./gguf-config.ts";
import { huggingFaceDecoder, huggingFaceRope, layerCount, layersOf, slidingLayers } from "./hugging-face-config.ts";
import { MAX_LAYERS } from "./limits.ts";

/** Qwen2 and Qwen2.5: Llama with biases on q, k and v. */
export const qwen2: Architecture = {
  name: "qwen2",
  modelTypes: ["qwen2"],
  ggufNames: ["qwen2"],
  fromHuggingFace: (config) => ({ ...qwenDecoder(config), biases: { qkv: true, output: false, mlp: false } }),
  fromGguf: (file) => ggufDecoder(file, { pairing: "halves", gate: "silu" }),
  graph: decoderGraph,
};

/** What Qwen2 and Qwen3 share: where `use_sliding_window` is set, layers from `max_window_layers` on have a window. */
export function qwenDecoder(config: ConfigReader): Omit<DecoderConfig, "biases"> {
  const shared = huggingFaceDecoder(config, { max_position_embeddings: 32_768 });
  const rope = huggingFaceRope(config, shared.headSize, {
    thetaKey: "rope_theta",
    scalingKey: "rope_scaling",
    defaultTheta: 10_000,
  });
  const windowed = config.boolean("use_sliding_window", false);
  const from = config.raw("max_window_layers") === 0 ? 0 : config.count("max_window_layers", MAX_LAYERS, 28);
  const slides = slidingLayers(config, layerCount(config), (l) => windowed && l >= from);
  return { ...shared, layers: layersOf(config, rope, slides) };
}
