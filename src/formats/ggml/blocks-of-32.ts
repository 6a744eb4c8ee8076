import type { GroupValues, QuantizedMatrix } from "../../weights/quantized-matrix.ts";
import { f16OfEachBlock, nibblesOfEachBlock } from "./block-reading.ts";

/** What a decoder gives: the matrix without its shape. */
export type Decoded = Omit<QuantizedMatrix, "kind" | "N" | "K">;

const GROUP_SIZE = 32;

/** d f16, 16 bytes of nibbles: d · (q − 8). */
export function decodeQ4_0(bytes: Uint8Array): Decoded {
  const codes = nibblesOfEachBlock(bytes, 18, 2);
  return { bits: 4, groupSize: GROUP_SIZE, codes, scale: f16OfEachBlock(bytes, 18, 0), zero: 8 };
}

/** d f16, m f16, 16 bytes of nibbles: d · q + m. */
export function decodeQ4_1(bytes: Uint8Array): Decoded {
  return {
    bits: 4,
    groupSize: GROUP_SIZE,
    codes: nibblesOfEachBlock(bytes, 20, 4),
    scale: f16OfEachBlock(bytes, 20, 0),
    zero: 0,
    offset: f16OfEachBlock(bytes, 20, 2),
  };
}

/** d f16, a u32 of fifth bits, 16 bytes of nibbles: d · (q − 16). */
export function decodeQ5_0(bytes: Uint8Array): Decoded {
  const codes = nibblesOfEachBlock(bytes, 22, 6);
  addFifthBits(bytes, 22, 2, codes);
  return { bits: 5, groupSize: GROUP_SIZE, codes, scale: f16OfEachBlock(bytes, 22, 0), zero: 16 };
}

/** d f16, m f16, a u32 of fifth bits, 16 bytes of nibbles: d · q + m. */
export function decodeQ5_1(bytes: Uint8Array): Decoded {
  const codes = nibblesOfEachBlock(bytes, 24, 8);
  addFifthBits(bytes, 24, 4, codes);
  return {
    bits: 5,
    groupSize: GROUP_SIZE,
    codes,
    scale: f16OfEachBlock(bytes, 24, 0),
    zero: 0,
    offset: f16OfEachBlock(bytes, 24, 2),
  };
}

/** d f16, 32 signed bytes: d · q. Codes are q + 128. */
export function decodeQ8_0(bytes: Uint8Array): Decoded {
  const blocks = bytes.byteLength / 34;
  const codes = new Uint8Array(blocks * 32);
  for (let block = 0, p = 2, k = 0; block < blocks; block++, p += 34, k += 32) {
    for (let i = 0; i < 32; i++) codes[k + i] = bytes[p + i]! ^ 0x80;
  }
  return { bits: 8, groupSize: GROUP_SIZE, codes, scale: f16OfEachBlock(bytes, 34, 0), zero: 128 };
}

/** d f16, 16 bytes of nibbles: d · book[q]. */
export function decodeIQ4_NL(bytes: Uint8Array): Decoded {
  return {
    bits: 4,
    groupSize: GROUP_SIZE,
    codes: nibblesOfEachBlock(bytes, 18, 2),
    codeBook: NON_LINEAR_4.slice(),
    scale: f16OfEachBlock(bytes, 18, 0),
    zero: 0,
  };
}

/** e u8, 16 bytes of nibbles: 2^(e − 127) · e2m1[q], kept as 2^(e − 128) · (2 · e2m1[q]). */
export function decodeMXFP4(bytes: Uint8Array): Decoded {
  const values = new Uint16Array(bytes.byteLength / 17);
  for (let block = 0; block < values.length; block++) {
    const e = bytes[block * 17]!;
    // bf16 of 2^(e − 128): the two smallest are subnormal.
    values[block] = e < 2 ? 0x20 << e : (e - 1) << 7;
  }
  const scale: GroupValues = { kind: "bf16", values };
  const codes = nibblesOfEachBlock(bytes, 17, 1);
  return { bits: 4, groupSize: GROUP_SIZE, codes, codeBook: DOUBLED_E2M1.slice(), scale, zero: 0 };
}

/** ggml's kvalues_iq4nl. */
export const NON_LINEAR_4: Int8Array = Int8Array.of(
  ...[-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113],
);

/** Twice the 16 values of a 4-bit float of 2 exponent and 1 mantissa bits (OCP Microscaling); its −0 is 0 here. */
const DOUBLED_E2M1: Int8Array = Int8Array.of(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);

/** Bit i of the u32 that stands `at` bytes into each block is worth 16 in the block's code i. */
function addFifthBits(bytes: Uint8Array, blockBytes: number, at: number, codes: Uint8Array): void {
  for (let p = at, k = 0; k < codes.length; p += blockBytes, k += 32) {
    const bits = bytes[p]! | (bytes[p + 1]! << 8) | (bytes[p + 2]! << 16) | (bytes[p + 3]! << 24);
    for (let i = 0; i < 32; i++) codes[k + i] = codes[k + i]! | (((bits >>> i) & 1) << 4);
  }
}
