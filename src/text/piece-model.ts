import { mergePairs, type PairRanks } from "./pair-merger.ts";
import type { TextModel } from "./text-model.ts";
import type { Vocabulary } from "./vocabulary.ts";

const encoder: TextEncoder = new TextEncoder();

export interface PieceOptions {
  /** Applied to the text first; spaces stay spaces here, SentencePiece's U+2581 becomes one. */
  readonly normalize: (text: string) => string;
  /** Where a space is put in front of text: nowhere, at its very start, or also after each token that is no text. */
  readonly spacePrefix: "none" | "start" | "segments";
  /** No space is put in front of one. */
  readonly prefixOnlyUnspaced: boolean;
  /** Words, each with the space before it, merge by themselves. */
  readonly splitsWords: boolean;
  /** The entries of the 256 bytes, for characters that have none; -1 where there is no such entry. */
  readonly idOfByte: Int32Array;
  readonly unknownId: number | undefined;
  /** A run of unknown characters is one unknown token. */
  readonly fusesUnknown: boolean;
}

/**
 * SentencePiece's way: characters merge across the whole text, spaces among them; a character without an entry becomes
 * the entries of its bytes.
 */
export class PieceModel implements TextModel {
  readonly #vocabulary: Vocabulary;
  readonly #ranks: PairRanks;
  readonly #options: PieceOptions;
  readonly #scratch: Uint8Array = new Uint8Array(4);

  constructor(vocabulary: Vocabulary, ranks: PairRanks, options: PieceOptions) {
    this.#vocabulary = vocabulary;
    this.#ranks = ranks;
    this.#options = options;
  }

  normalize(text: string): string {
    return this.#options.normalize(text).replaceAll("\u2581", " ");
  }

  encode(text: string, start: boolean, ids: number[]): void {
    const { spacePrefix, prefixOnlyUnspaced, splitsWords } = this.#options;
    const wanted = spacePrefix === "segments" || (spacePrefix === "start" && start);
    const prepared = wanted && !(prefixOnlyUnspaced && text.startsWith(" ")) ? ` ${text}` : text;
    for (const part of splitsWords ? prepared.split(/(?= )/) : [prepared]) this.#encodePart(part, ids);
  }

  #encodePart(text: string, ids: number[]): void {
    // A UTF-16 unit makes at most three bytes of UTF-8, and a character falls back to its bytes at worst.
    const symbols = new Int32Array(3 * text.length);
    let count = 0;
    let unknown = false;
    for (const character of text) {
      const written = encoder.encodeInto(character, this.#scratch).written;
      const id = this.#vocabulary.find(this.#scratch, 0, written);
      const wasUnknown: boolean = unknown;
      unknown = false;
      if (id !== undefined) symbols[count++] = id;
      else if (this.#hasBytes(written)) {
        // Complements never merge.
        for (let i = 0; i < written; i++) symbols[count++] = ~this.#options.idOfByte[this.#scratch[i]!]!;
      } else if (this.#options.unknownId !== undefined) {
        unknown = true;
        if (!(wasUnknown && this.#options.fusesUnknown)) symbols[count++] = ~this.#options.unknownId;
      }
    }
    const length = mergePairs(symbols, count, this.#ranks);
    for (let i = 0; i < length; i++) ids.push(symbols[i]! < 0 ? ~symbols[i]! : symbols[i]!);
  }

  #hasBytes(length: number): boolean {
    for (let i = 0; i < length; i++) if (this.#options.idOfByte[this.#scratch[i]!]! < 0) return false;
    return true;
  }
}
