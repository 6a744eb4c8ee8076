import type { GeneratedToken } from "../../engine/generation-result.ts";
import type { Tokenizer } from "../../text/tokenizer.ts";

interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: number[];
}

export interface ChatLogprob extends TokenLogprob {
  readonly top_logprobs: TokenLogprob[];
}

/** Log-probabilities in the shape of OpenAI's chat API. */
export function chatLogprobs(tokenizer: Tokenizer, tokens: readonly GeneratedToken[]): ChatLogprob[] {
  const entry = ({ id, text, logprob = 0 }: { id: number; text: string; logprob?: number }): TokenLogprob => ({
    token: text,
    logprob,
    bytes: Array.from(tokenizer.tokenBytes(id)),
  });
  return tokens.map((token) => ({ ...entry(token), top_logprobs: (token.top ?? []).map(entry) }));
}
