import type { DecoderConfig, LayerConfig } from "./decoder-config.ts";

/**
 * The configuration for sequences of at most `contextLength` positions. LongRoPE has factors for those within the original
 * context and others for longer ones. transformers changes from one to the other when a sequence grows past it, keys in the
 * cache staying as they were; here, as in vLLM, a model has one of them, so that an answer does not depend on where it was cut.
 */
export function withContext(config: DecoderConfig, contextLength: number = config.contextLength): DecoderConfig {
  const layers = config.layers.map((layer): LayerConfig => {
    const { scaling, ...spec } = layer.rope;
    if (scaling?.type !== "longrope" || contextLength > scaling.originalContext) return layer;
    const { short: divisors, magnitude } = scaling;
    return { ...layer, rope: { ...spec, scaling: { type: "divisors", divisors, magnitude } } };
  });
  return { ...config, layers };
}
