import type { EmbeddingModelV3, LanguageModelV3 } from "@ai-sdk/provider";
import type { Model } from "../model.ts";
import { HalfbyteLanguageModel } from "./language-model.ts";

/**
 * A loaded model for the AI SDK's `generateText`, `streamText` and the like. The model stays the caller's: dispose it
 * when it is no longer used. `providerOptions: { halfbyte: { reasoning: false } }` asks a model that can reason not to.
 *
 * @throws (from the calls) HalfbyteError, as `Model.chat` does.
 */
export function languageModel(model: Model): LanguageModelV3 {
  return new HalfbyteLanguageModel(model);
}

/** A loaded model for the AI SDK's `embed` and `embedMany`: its hidden states, averaged over each text. */
export function embeddingModel(model: Model): EmbeddingModelV3 {
  return {
    specificationVersion: "v3",
    provider: "halfbyte",
    modelId: model.info.name,
    maxEmbeddingsPerCall: undefined,
    supportsParallelCalls: true,
    async doEmbed({ values, abortSignal }) {
      const embeddings = await model.embed(values, abortSignal ? { signal: abortSignal } : {});
      return {
        embeddings: embeddings.map(({ vector }) => Array.from(vector)),
        usage: { tokens: embeddings.reduce((sum, { promptTokens }) => sum + promptTokens, 0) },
        warnings: [],
      };
    },
  };
}
