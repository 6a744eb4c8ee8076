import { mergePairs, type PairRanks } from "./pair-merger.ts";
import { type SplitStep, splitText, type TextModel } from "./text-model.ts";
import type { Vocabulary } from "./vocabulary.ts";

const encoder: TextEncoder = new TextEncoder();

export interface ByteLevelOptions {
  readonly steps: readonly SplitStep[];
  /** Applied to the text before it is cut. */
  readonly normalize: (text: string) => string;
  /** A whole word that is an entry is that entry, whatever the merges say. */
  readonly ignoreMerges: boolean;
}

/**
 * Byte-level BPE: text is cut into words, a word into bytes, and bytes merge within their word. A byte that has no
 * entry vanishes, as it does in Hugging Face's tokenizers.
 */
export class ByteLevelModel implements TextModel {
  readonly #vocabulary: Vocabulary;
  readonly #ranks: PairRanks;
  readonly #options: ByteLevelOptions;
  readonly #idOfByte: Int32Array = new Int32Array(256).fill(-1);
  readonly #scratch: Uint8Array = new Uint8Array(1024);
  readonly #symbols: Int32Array = new Int32Array(1024);

  constructor(vocabulary: Vocabulary, ranks: PairRanks, options: ByteLevelOptions) {
    this.#vocabulary = vocabulary;
    this.#ranks = ranks;
    this.#options = options;
    for (let byte = 0; byte < 256; byte++) this.#idOfByte[byte] = vocabulary.find(Uint8Array.of(byte)) ?? -1;
  }

  normalize(text: string): string {
    return this.#options.normalize(text);
  }

  encode(text: string, _start: boolean, ids: number[]): void {
    for (const word of splitText(text, this.#options.steps)) this.#encodeWord(word, ids);
  }

  #encodeWord(word: string, ids: number[]): void {
    // A UTF-16 unit makes at most three bytes of UTF-8.
    const room = 3 * word.length;
    const kept = room <= this.#scratch.length;
    const scratch = kept ? this.#scratch : new Uint8Array(room);
    const symbols = kept ? this.#symbols : new Int32Array(room);
    const { written } = encoder.encodeInto(word, scratch);
    if (this.#options.ignoreMerges) {
      const whole = this.#vocabulary.find(scratch, 0, written);
      if (whole !== undefined) {
        ids.push(whole);
        return;
      }
    }
    let count = 0;
    for (let i = 0; i < written; i++) {
      const id = this.#idOfByte[scratch[i]!]!;
      if (id >= 0) symbols[count++] = id;
    }
    const length = mergePairs(symbols, count, this.#ranks);
    for (let i = 0; i < length; i++) ids.push(symbols[i]!);
  }
}
