import type { Architecture } from "./architecture.ts";
import { decoderGraph } from "./decoder.ts";
import { ggufDecoder } from "./gguf-config.ts";
import { qwenDecoder } from "./qwen2.ts";

/** Qwen3, dense: heads of q and k are normed before they turn. */
export const qwen3: Architecture = {
  name: "qwen3",
  modelTypes: ["qwen3"],
  ggufNames: ["qwen3"],
  fromHuggingFace(config) {
    const attentionBias = config.boolean("attention_bias", false);
    return {
      ...qwenDecoder(config),
      headNorms: true,
      biases: { qkv: attentionBias, output: attentionBias, mlp: false },
    };
  },
  async fromGguf(file) {
    return { ...(await ggufDecoder(file, { pairing: "halves", gate: "silu" })), headNorms: true };
  },
  graph: decoderGraph,
};
