import type { DecodeOptions, Tokenizer } from "./tokenizer.ts";

/** What of a tokenizer is needed to turn tokens into text. */
export type TokenSource = Pick<Tokenizer, "tokenBytes" | "isSpecial" | "stripsLeadingSpace">;

export interface DetokenizerOptions extends DecodeOptions {
  /**
   * The tokens begin a text of their own, so that a leading space which is only SentencePiece's habit goes away. False
   * for tokens that go on with a text already shown. By default true.
   */
  readonly startsText?: boolean;
}

/**
 * Text from tokens as they come: what it gave so far never changes, and is what `Tokenizer.decode` makes of all of them.
 * Of a character whose bytes are not all there yet it gives nothing.
 */
export class IncrementalDetokenizer {
  readonly #tokenizer: TokenSource;
  readonly #skipSpecial: boolean;
  readonly #decoder: TextDecoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #stripsSpace: boolean;

  constructor(tokenizer: TokenSource, options: DetokenizerOptions = {}) {
    this.#tokenizer = tokenizer;
    this.#skipSpecial = options.skipSpecial ?? false;
    this.#stripsSpace = tokenizer.stripsLeadingSpace && (options.startsText ?? true);
  }

  /** The text that is certain now and was not before. Throws ERR_ARGUMENT for an id out of range. */
  push(id: number): string {
    const bytes = this.#tokenizer.tokenBytes(id);
    if (this.#skipSpecial && this.#tokenizer.isSpecial(id)) return "";
    return this.#strip(this.#decoder.decode(bytes, { stream: true }));
  }

  /** Ends the text: bytes that wait for the rest of their character become U+FFFD. */
  flush(): string {
    return this.#strip(this.#decoder.decode());
  }

  #strip(text: string): string {
    if (!this.#stripsSpace || text === "") return text;
    this.#stripsSpace = false;
    return text.startsWith(" ") ? text.slice(1) : text;
  }
}
