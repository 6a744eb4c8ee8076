import type { StringTable } from "../formats/string-table.ts";
import { TokenKind } from "./vocabulary.ts";

/**
 * GPT-2's alphabet, in which vocabularies of byte-level BPE spell bytes as printable characters: a byte that is printable in
 * Latin-1 is itself, the others are U+0100 onwards in ascending order.
 */
const byteOfCharacter: Int16Array = (() => {
  const table = new Int16Array(0x180).fill(-1);
  let next = 0x100;
  for (let byte = 0; byte < 256; byte++) {
    const printable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
    table[printable ? byte : next++] = byte;
  }
  return table;
})();

/**
 * Writes the bytes that the UTF-8 of `text[start .. end]` spells in GPT-2's alphabet to `target` from `at` on; returns
 * where they end, or undefined where a character is not of the alphabet.
 */
export function writeSpeltBytes(
  text: Uint8Array,
  start: number,
  end: number,
  target: Uint8Array,
  at: number,
): number | undefined {
  let to = at;
  for (let i = start; i < end; ) {
    let character = text[i++]!;
    if (character >= 0x80) {
      // Two bytes spell what is below U+0180, where the alphabet has long ended.
      const next = i < end ? text[i++]! : 0;
      if (character < 0xc2 || character > 0xc5 || (next & 0xc0) !== 0x80) return undefined;
      character = ((character & 0x1f) << 6) | (next & 0x3f);
    }
    const byte = byteOfCharacter[character]!;
    if (byte < 0) return undefined;
    target[to++] = byte;
  }
  return to;
}

/** The bytes that the entries of a byte-level vocabulary stand for; added tokens are spelt as they are. */
export function byteLevelPieces(entries: StringTable, kinds: Uint8Array): StringTable {
  const { bytes, offsets } = entries;
  const target = new Uint8Array(bytes.length);
  const targetOffsets = new Uint32Array(kinds.length + 1);
  let to = 0;
  for (let id = 0; id < kinds.length; id++) {
    const start = offsets[id]!;
    const end = offsets[id + 1]!;
    const spelt = kinds[id] === TokenKind.normal || kinds[id] === TokenKind.unused;
    const written = spelt ? writeSpeltBytes(bytes, start, end, target, to) : undefined;
    if (written === undefined) target.set(bytes.subarray(start, end), to);
    to = written ?? to + end - start;
    targetOffsets[id + 1] = to;
  }
  return { bytes: target.slice(0, to), offsets: targetOffsets };
}
