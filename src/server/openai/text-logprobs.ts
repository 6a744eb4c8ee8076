import * as v from "valibot";
import type { GeneratedToken } from "../../engine/generation-result.ts";
import type { Tokenizer } from "../../text/tokenizer.ts";

export interface LogprobsBody {
  readonly tokens: string[];
  readonly token_logprobs: (number | null)[];
  readonly top_logprobs: (Record<string, number> | null)[];
  /** UTF-16 units from the beginning of the text. */
  readonly text_offset: number[];
}

export const logprobsSchema: v.GenericSchema<LogprobsBody> = v.object({
  tokens: v.array(v.string()),
  token_logprobs: v.array(v.nullable(v.number())),
  top_logprobs: v.array(v.nullable(v.record(v.string(), v.number()))),
  text_offset: v.array(v.number()),
});

/** Log-probabilities in the shape of OpenAI's text API, piece by piece of one text. */
export class TextLogprobs {
  readonly #tokenizer: Tokenizer;
  #offset = 0;

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer;
  }

  take(tokens: readonly GeneratedToken[]): LogprobsBody {
    const body: LogprobsBody = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] };
    for (const { id, text, logprob, top } of tokens) {
      const name = this.#name(id, text);
      body.tokens.push(name);
      body.token_logprobs.push(logprob ?? null);
      body.top_logprobs.push(
        logprob === undefined
          ? null
          : Object.fromEntries((top ?? []).map((each) => [this.#name(each.id, each.text), each.logprob])),
      );
      body.text_offset.push(this.#offset);
      this.#offset += text.length;
    }
    return body;
  }

  /** A token that is part of a character has no text, and its bytes are shown as OpenAI does. */
  #name(id: number, text: string): string {
    if (!text.includes("\uFFFD")) return text;
    const bytes = Array.from(this.#tokenizer.tokenBytes(id), (byte) => `\\x${byte.toString(16).padStart(2, "0")}`);
    return `bytes:${bytes.join("")}`;
  }
}
