import { buildTable, type StringTable } from "./string-table.ts";
import { TokenKind } from "./vocabulary.ts";

/**
 * GPT-2's alphabet, in which vocabularies of byte-level BPE spell bytes as printable characters: a byte that is printable in
 * Latin-1 is itself, the others are U+0100 onwards in ascending order.
 */
const byteOfCodePoint: Int16Array = (() => {
  const table = new Int16Array(0x144).fill(-1);
  let next = 0x100;
  for (let byte = 0; byte < 256; byte++) {
    const printable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
    table[printable ? byte : next++] = byte;
  }
  return table;
})();

/**
 * Turns `source[start .. end]`, UTF-8 in GPT-2's alphabet, into the bytes it spells, written to `target` from `at` on;
 * returns where they end, or undefined where a character is not of the alphabet.
 */
export function writeSpeltBytes(
  source: Uint8Array,
  start: number,
  end: number,
  target: Uint8Array,
  at: number,
): number | undefined {
  let to = at;
  for (let i = start; i < end; i++) {
    let codePoint = source[i]!;
    // The alphabet ends at U+0143: two bytes of UTF-8 at most, and the first is at most 0xc5.
    if (codePoint >= 0x80) codePoint = codePoint > 0xc5 ? -1 : ((codePoint & 0x1f) << 6) | (source[++i]! & 0x3f);
    const byte = byteOfCodePoint[codePoint] ?? -1;
    if (byte < 0) return undefined;
    target[to++] = byte;
  }
  return to;
}

/** The bytes that the entries of a byte-level vocabulary stand for; added tokens are spelt as they are. */
export function byteLevelPieces(entries: StringTable, kinds: Uint8Array): StringTable {
  return buildTable(kinds.length, entries.bytes.length, (id, target, at) => {
    const start = entries.offsets[id]!;
    const end = entries.offsets[id + 1]!;
    const spelt = kinds[id] === TokenKind.normal || kinds[id] === TokenKind.unused;
    const written = spelt ? writeSpeltBytes(entries.bytes, start, end, target, at) : undefined;
    if (written !== undefined) return written;
    target.set(entries.bytes.subarray(start, end), at);
    return at + end - start;
  });
}
