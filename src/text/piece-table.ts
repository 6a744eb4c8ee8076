import { HalfbyteError } from "../errors.ts";
import type { StringTable } from "../formats/string-table.ts";
import { TokenKind } from "./vocabulary.ts";

/** The bytes SentencePiece's entries stand for: U+2581 is a space, `<0x41>` the byte 41; fills in the ids of the bytes. */
export function sentencePieces(entries: StringTable, kinds: Uint8Array, idOfByte: Int32Array): StringTable {
  const { bytes, offsets } = entries;
  const target = new Uint8Array(bytes.length);
  const targetOffsets = new Uint32Array(kinds.length + 1);
  let to = 0;
  for (let id = 0; id < kinds.length; id++) {
    const start = offsets[id]!;
    const end = offsets[id + 1]!;
    if (kinds[id] === TokenKind.byte) {
      const byte = readByteName(bytes, start, end);
      idOfByte[byte] = id;
      target[to++] = byte;
    } else {
      for (let i = start; i < end; i++) {
        if (bytes[i] === 0xe2 && bytes[i + 1] === 0x96 && bytes[i + 2] === 0x81 && i + 2 < end) {
          target[to++] = 0x20;
          i += 2;
        } else target[to++] = bytes[i]!;
      }
    }
    targetOffsets[id + 1] = to;
  }
  return { bytes: target.slice(0, to), offsets: targetOffsets };
}

function readByteName(bytes: Uint8Array, start: number, end: number): number {
  const name = new TextDecoder().decode(bytes.subarray(start, Math.min(end, start + 16)));
  const match = /^<0x([0-9A-Fa-f]{2})>$/.exec(name);
  if (match && end - start === 6) return Number.parseInt(match[1]!, 16);
  throw new HalfbyteError("ERR_FORMAT", "a byte entry is not named like one", {
    place: "tokenizer vocabulary",
    expected: "<0x00> to <0xFF>",
    got: JSON.stringify(name),
  });
}
