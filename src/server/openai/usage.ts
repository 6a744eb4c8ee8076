import * as v from "valibot";
import type { Usage } from "../../engine/generation-result.ts";

export interface UsageBody {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
}

export const usageSchema: v.GenericSchema<UsageBody> = v.object({
  prompt_tokens: v.number(),
  completion_tokens: v.number(),
  total_tokens: v.number(),
  prompt_tokens_details: v.object({ cached_tokens: v.number() }),
});

/** Of the choices of one prompt, which counts once. */
export function usageBody(choices: readonly Usage[]): UsageBody {
  const { promptTokens, cachedTokens } = choices[0]!;
  const completionTokens = choices.reduce((sum, usage) => sum + usage.completionTokens, 0);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
}
