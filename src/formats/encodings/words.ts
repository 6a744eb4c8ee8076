/**
 * Codes in 32-bit words, the first in the lowest bits: what GPTQ, AWQ and compressed-tensors share. 4-bit codes are spread
 * eight to a word, 8-bit codes four.
 */

/** [rows, K] codes from rows of words; the last word of a row may be partly used. */
export function codesFromWords(words: Uint32Array, rows: number, K: number, bits: 4 | 8): Uint8Array {
  const perWord = 32 / bits;
  const width = Math.ceil(K / perWord);
  const codes = new Uint8Array(rows * K);
  if (K % perWord === 0) {
    const out = new Uint32Array(codes.buffer);
    if (bits === 8) out.set(words.subarray(0, out.length));
    else {
      for (let i = 0; i < words.length; i++) {
        out[2 * i] = spreadNibbles(words[i]!);
        out[2 * i + 1] = spreadNibbles(words[i]! >>> 16);
      }
    }
    return codes;
  }
  const mask = (1 << bits) - 1;
  for (let r = 0; r < rows; r++)
    for (let k = 0; k < K; k++)
      codes[r * K + k] = (words[r * width + Math.floor(k / perWord)]! >>> (bits * (k % perWord))) & mask;
  return codes;
}

/** Rows of words from [rows, K] codes; unused bits are 0. */
export function wordsFromCodes(codes: Uint8Array, rows: number, K: number, bits: 4 | 8): Uint32Array {
  const perWord = 32 / bits;
  const width = Math.ceil(K / perWord);
  const words = new Uint32Array(rows * width);
  for (let r = 0; r < rows; r++)
    for (let k = 0; k < K; k++)
      words[r * width + Math.floor(k / perWord)]! |= codes[r * K + k]! << (bits * (k % perWord));
  return words;
}

/** The four lowest nibbles to four bytes. */
export function spreadNibbles(half: number): number {
  return (half & 0xf) | ((half & 0xf0) << 4) | ((half & 0xf00) << 8) | ((half & 0xf000) << 12);
}

/** Four bytes below 16 to four nibbles. */
export function gatherNibbles(word: number): number {
  return (word & 0xf) | ((word >>> 4) & 0xf0) | ((word >>> 8) & 0xf00) | ((word >>> 12) & 0xf000);
}
