import { HalfbyteError } from "../errors.ts";
import { type AddedToken, AddedTokenMatcher } from "./added-tokens.ts";
import type { TextModel } from "./text-model.ts";
import { TokenKind, type Vocabulary } from "./vocabulary.ts";

export interface EncodeOptions {
  /**
   * Turn the text of special tokens into those tokens. Off by default, so that what a user wrote can never become a turn
   * marker; on for what a chat template rendered.
   */
  readonly parseSpecial?: boolean;
  /** Put the beginning-of-sequence token in front; by default where the model wants it (`addBosByDefault`). */
  readonly addBos?: boolean;
}

export interface DecodeOptions {
  /** Leave special tokens out. */
  readonly skipSpecial?: boolean;
}

/** Text to token ids and back. */
export interface Tokenizer {
  readonly vocabularySize: number;
  readonly bosId: number | undefined;
  readonly eosId: number | undefined;
  readonly unknownId: number | undefined;
  readonly paddingId: number | undefined;
  /** Each of these ends an answer: end of sequence, of turn, of message. */
  readonly endOfGenerationIds: ReadonlySet<number>;
  readonly addBosByDefault: boolean;
  /** The space in front of decoded text is one that encoding put there, and decoding takes it away. */
  readonly stripsLeadingSpace: boolean;
  /** Throws ERR_LIMIT for a text past `MAX_TEXT_LENGTH`. */
  encode(text: string, options?: EncodeOptions): Int32Array;
  /** Bytes that are no UTF-8 become U+FFFD, as TextDecoder does it. Throws ERR_ARGUMENT for an id out of range. */
  decode(ids: Iterable<number>, options?: DecodeOptions): string;
  /** The bytes an id stands for, which may be part of a character; a view. Throws ERR_ARGUMENT for an id out of range. */
  tokenBytes(id: number): Uint8Array;
  /** Is the token a marker (beginning, end, role …) and not text? */
  isSpecial(id: number): boolean;
  /** The id of a special or other added token by its text. */
  addedTokenId(content: string): number | undefined;
}

/** Ids and habits that a vocabulary alone does not say. */
export interface TokenizerTraits {
  readonly bosId: number | undefined;
  readonly eosId: number | undefined;
  readonly unknownId: number | undefined;
  readonly paddingId: number | undefined;
  readonly endOfGenerationIds: ReadonlySet<number>;
  readonly addBosByDefault: boolean;
  readonly stripsLeadingSpace: boolean;
}

/** UTF-16 units: many times any context, and few enough for regular expressions and typed arrays. */
const MAX_TEXT_LENGTH = 1 << 24;

/** The one tokenizer: added tokens by a matcher, the text between them by a model, both over one vocabulary. */
export class VocabularyTokenizer implements Tokenizer {
  readonly vocabularySize: number;
  readonly bosId: number | undefined;
  readonly eosId: number | undefined;
  readonly unknownId: number | undefined;
  readonly paddingId: number | undefined;
  readonly endOfGenerationIds: ReadonlySet<number>;
  readonly addBosByDefault: boolean;
  readonly stripsLeadingSpace: boolean;
  readonly #vocabulary: Vocabulary;
  readonly #model: TextModel;
  readonly #added: readonly AddedToken[];
  readonly #plain: AddedTokenSplitter;
  #special: AddedTokenSplitter | undefined;

  constructor(vocabulary: Vocabulary, model: TextModel, added: readonly AddedToken[], traits: TokenizerTraits) {
    this.vocabularySize = vocabulary.size;
    this.bosId = traits.bosId;
    this.eosId = traits.eosId;
    this.unknownId = traits.unknownId;
    this.paddingId = traits.paddingId;
    this.endOfGenerationIds = traits.endOfGenerationIds;
    this.addBosByDefault = traits.addBosByDefault;
    this.stripsLeadingSpace = traits.stripsLeadingSpace;
    this.#vocabulary = vocabulary;
    this.#model = model;
    this.#added = added;
    const plain = added.filter((token) => !token.special);
    this.#plain = new AddedTokenSplitter(plain, model);
  }

  encode(text: string, options: EncodeOptions = {}): Int32Array {
    if (text.length > MAX_TEXT_LENGTH) {
      throw new HalfbyteError("ERR_LIMIT", "the text is too long to tokenize", {
        expected: `at most ${MAX_TEXT_LENGTH} UTF-16 units`,
        got: String(text.length),
      });
    }
    const { parseSpecial = false, addBos = this.addBosByDefault } = options;
    const ids: number[] = [];
    if (addBos && this.bosId !== undefined) ids.push(this.bosId);
    let start = true;
    for (const part of this.#splitter(parseSpecial).split(text.toWellFormed())) {
      if (typeof part === "number") ids.push(part);
      else this.#model.encode(part, start, ids);
      start = false;
    }
    return Int32Array.from(ids);
  }

  // Gemma has 6,249 special tokens, and a plain completion needs none of them.
  #splitter(parseSpecial: boolean): AddedTokenSplitter {
    if (!parseSpecial) return this.#plain;
    this.#special ??= new AddedTokenSplitter(this.#added, this.#model);
    return this.#special;
  }

  decode(ids: Iterable<number>, options: DecodeOptions = {}): string {
    const pieces: Uint8Array[] = [];
    let length = 0;
    for (const id of ids) {
      const bytes = this.tokenBytes(id);
      if (options.skipSpecial && this.isSpecial(id)) continue;
      pieces.push(bytes);
      length += bytes.length;
    }
    const bytes = new Uint8Array(length);
    let end = 0;
    for (const piece of pieces) {
      bytes.set(piece, end);
      end += piece.length;
    }
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    return this.stripsLeadingSpace && text.startsWith(" ") ? text.slice(1) : text;
  }

  tokenBytes(id: number): Uint8Array {
    if (!Number.isInteger(id) || id < 0 || id >= this.vocabularySize) {
      throw new HalfbyteError("ERR_ARGUMENT", "no token has this id", {
        expected: `an integer from 0 to ${this.vocabularySize - 1}`,
        got: String(id),
      });
    }
    return this.#vocabulary.bytes(id);
  }

  isSpecial(id: number): boolean {
    const kind = this.#vocabulary.kinds[id];
    return kind === TokenKind.control || kind === TokenKind.unknown;
  }

  addedTokenId(content: string): number | undefined {
    return this.#added.find((token) => token.content === content)?.id;
  }
}

/** Finds added tokens: those of the text as given, and between them those of the text as the model sees it. */
class AddedTokenSplitter {
  readonly #model: TextModel;
  readonly #raw: AddedTokenMatcher;
  readonly #normalized: AddedTokenMatcher;

  constructor(tokens: readonly AddedToken[], model: TextModel) {
    this.#model = model;
    this.#raw = new AddedTokenMatcher(tokens.filter((token) => !token.normalized));
    const normalized = tokens.filter((token) => token.normalized);
    this.#normalized = new AddedTokenMatcher(
      normalized.map((token) => ({ ...token, content: model.normalize(token.content) })),
    );
  }

  /** Normalized text, and ids of the tokens between. */
  split(text: string): (string | number)[] {
    return this.#raw
      .split(text)
      .flatMap((part) => (typeof part === "number" ? part : this.#normalized.split(this.#model.normalize(part))));
  }
}
