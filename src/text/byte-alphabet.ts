import { buildTable, type StringTable } from "./string-table.ts";
import { TokenKind } from "./vocabulary.ts";

const encoder: TextEncoder = new TextEncoder();

/**
 * GPT-2's alphabet, in which vocabularies of byte-level BPE spell bytes as printable characters: a byte that is printable in
 * Latin-1 is itself, the others are U+0100 onwards in ascending order.
 */
const byteOfCharacter: Int16Array = (() => {
  const table = new Int16Array(0x144).fill(-1);
  let next = 0x100;
  for (let byte = 0; byte < 256; byte++) {
    const printable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
    table[printable ? byte : next++] = byte;
  }
  return table;
})();

/**
 * Writes the bytes that `text[start .. end]` spells in GPT-2's alphabet to `target` from `at` on; returns where they end,
 * or undefined where a character is not of the alphabet.
 */
export function writeSpeltBytes(
  text: string,
  start: number,
  end: number,
  target: Uint8Array,
  at: number,
): number | undefined {
  let to = at;
  for (let i = start; i < end; i++) {
    const unit = text.charCodeAt(i);
    const byte = unit < 0x144 ? byteOfCharacter[unit]! : -1;
    if (byte < 0) return undefined;
    target[to++] = byte;
  }
  return to;
}

/** The bytes that the entries of a byte-level vocabulary stand for; added tokens are spelt as they are. */
export function byteLevelPieces(entries: readonly string[], kinds: Uint8Array): StringTable {
  let units = 0;
  for (const text of entries) units += text.length;
  // A UTF-16 unit makes at most three bytes of UTF-8.
  return buildTable(kinds.length, 3 * units, (id, target, at) => {
    const text = entries[id]!;
    const spelt = kinds[id] === TokenKind.normal || kinds[id] === TokenKind.unused;
    const written = spelt ? writeSpeltBytes(text, 0, text.length, target, at) : undefined;
    return written ?? at + encoder.encodeInto(text, target.subarray(at)).written;
  });
}
