import type { GroupValues } from "../../weights/quantized-matrix.ts";

/** The little-endian u16 that stands `at` bytes into each block: f16 scales, by their bits. */
export function halfOfEachBlock(bytes: Uint8Array, blockBytes: number, at: number): Uint16Array {
  const halves = new Uint16Array(bytes.byteLength / blockBytes);
  for (let block = 0, p = at; block < halves.length; block++, p += blockBytes) {
    halves[block] = bytes[p]! | (bytes[p + 1]! << 8);
  }
  return halves;
}

/** f16 values, one for each block. */
export function f16OfEachBlock(bytes: Uint8Array, blockBytes: number, at: number): GroupValues {
  return { kind: "f16", values: halfOfEachBlock(bytes, blockBytes, at) };
}

/** Codes of 4 bits, 32 a block: 16 bytes `at` bytes into it have inputs 0 to 15 low and 16 to 31 high. */
export function nibblesOfEachBlock(bytes: Uint8Array, blockBytes: number, at: number): Uint8Array {
  const blocks = bytes.byteLength / blockBytes;
  const codes = new Uint8Array(blocks * 32);
  for (let block = 0, p = at, k = 0; block < blocks; block++, p += blockBytes, k += 32) {
    unpackNibbles(bytes, p, 16, codes, k);
  }
  return codes;
}

/** `length` bytes from `at` to the codes at `k`: all low nibbles, then all high ones. */
export function unpackNibbles(bytes: Uint8Array, at: number, length: number, codes: Uint8Array, k: number): void {
  for (let i = 0; i < length; i++) {
    const pair = bytes[at + i]!;
    codes[k + i] = pair & 15;
    codes[k + length + i] = pair >> 4;
  }
}
