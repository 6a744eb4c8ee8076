import type { StringTable } from "../formats/string-table.ts";

const encoder: TextEncoder = new TextEncoder();

/** Packs strings into one table; half of a surrogate pair becomes U+FFFD. */
export function packStrings(strings: readonly string[]): StringTable {
  const bytes = encoder.encode(strings.join(""));
  const offsets = new Uint32Array(strings.length + 1);
  let end = 0;
  for (let i = 0; i < strings.length; i++) {
    end += utf8Length(strings[i]!);
    offsets[i + 1] = end;
  }
  // Two halves of a surrogate pair in neighbouring strings join into one character, and the lengths no longer add up.
  return end === bytes.length ? { bytes, offsets } : packStrings(strings.map((text) => text.toWellFormed()));
}

function utf8Length(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) length += 1;
    else if (unit >= 0xd800 && unit < 0xdc00 && text.charCodeAt(i + 1) >>> 10 === 0xdc00 >>> 10) {
      length += 2; // four bytes for two units
      i++;
    } else length += 2;
  }
  return length;
}
