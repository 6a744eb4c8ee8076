import type { GroupValues } from "../../weights/quantized-matrix.ts";
import { halfOfEachBlock, unpackNibbles } from "./block-reading.ts";
import { type Decoded, NON_LINEAR_4 } from "./blocks-of-32.ts";

// Blocks of 256 inputs with scales in two levels. Layouts: ggml-common.h of llama.cpp.
const SUPER_SIZE = 256;

function twoLevel(
  kind: "two-level-u8" | "two-level-i8",
  codes: Uint8Array,
  bytes: Uint8Array,
  blockBytes: number,
  at: number,
): GroupValues {
  return { kind, codes, superValues: halfOfEachBlock(bytes, blockBytes, at), superSize: SUPER_SIZE };
}

/** 16 bytes (scale low, min high), 64 bytes of 2-bit codes, d f16, dmin f16: d · scale · q − dmin · min. */
export function decodeQ2_K(bytes: Uint8Array): Decoded {
  const blocks = bytes.byteLength / 84;
  const codes = new Uint8Array(blocks * 256);
  const scales = new Uint8Array(blocks * 16);
  const mins = new Uint8Array(blocks * 16);
  for (let block = 0; block < blocks; block++) {
    const p = block * 84;
    for (let g = 0; g < 16; g++) {
      scales[block * 16 + g] = bytes[p + g]! & 15;
      mins[block * 16 + g] = bytes[p + g]! >> 4;
    }
    unpackPairs(bytes, p + 16, codes, block * 256);
  }
  return {
    bits: 4,
    groupSize: 16,
    codes,
    scale: twoLevel("two-level-u8", scales, bytes, 84, 80),
    zero: 0,
    offset: twoLevel("two-level-u8", mins, bytes, 84, 82),
  };
}

/** 32 bytes of third bits, 64 bytes of 2-bit codes, 12 bytes of 6-bit scales, d f16: d · (scale − 32) · (q − 4). */
export function decodeQ3_K(bytes: Uint8Array): Decoded {
  const blocks = bytes.byteLength / 110;
  const codes = new Uint8Array(blocks * 256);
  const scales = new Uint8Array(blocks * 16);
  for (let block = 0; block < blocks; block++) {
    const p = block * 110;
    unpackPairs(bytes, p + 32, codes, block * 256);
    for (let part = 0; part < 8; part++) {
      const k = block * 256 + part * 32;
      for (let i = 0; i < 32; i++) codes[k + i] = codes[k + i]! | (((bytes[p + i]! >> part) & 1) << 2);
    }
    const s = p + 96;
    for (let g = 0; g < 16; g++) {
      const low = g < 8 ? bytes[s + g]! & 15 : bytes[s + g - 8]! >> 4;
      const high = (bytes[s + 8 + (g & 3)]! >> (2 * (g >> 2))) & 3;
      scales[block * 16 + g] = (low | (high << 4)) - 32;
    }
  }
  return { bits: 4, groupSize: 16, codes, scale: twoLevel("two-level-i8", scales, bytes, 110, 108), zero: 4 };
}

/** d f16, dmin f16, 12 bytes of 6-bit scales and mins, 128 bytes of nibbles: d · scale · q − dmin · min. */
export function decodeQ4_K(bytes: Uint8Array): Decoded {
  const blocks = bytes.byteLength / 144;
  const codes = new Uint8Array(blocks * 256);
  for (let block = 0; block < blocks; block++) {
    for (let part = 0; part < 4; part++) {
      unpackNibbles(bytes, block * 144 + 16 + part * 32, 32, codes, block * 256 + part * 64);
    }
  }
  return { bits: 4, groupSize: 32, codes, zero: 0, ...scalesAndMins(bytes, 144) };
}

/** As Q4_K, with 32 bytes of fifth bits before the nibbles. */
export function decodeQ5_K(bytes: Uint8Array): Decoded {
  const blocks = bytes.byteLength / 176;
  const codes = new Uint8Array(blocks * 256);
  for (let block = 0; block < blocks; block++) {
    const p = block * 176;
    for (let part = 0; part < 4; part++) {
      unpackNibbles(bytes, p + 48 + part * 32, 32, codes, block * 256 + part * 64);
    }
    for (let part = 0; part < 8; part++) {
      const k = block * 256 + part * 32;
      for (let i = 0; i < 32; i++) codes[k + i] = codes[k + i]! | (((bytes[p + 16 + i]! >> part) & 1) << 4);
    }
  }
  return { bits: 5, groupSize: 32, codes, zero: 0, ...scalesAndMins(bytes, 176) };
}

/** 128 bytes of low nibbles, 64 bytes of 2 high bits, 16 signed scales, d f16: d · scale · (q − 32). */
export function decodeQ6_K(bytes: Uint8Array): Decoded {
  const blocks = bytes.byteLength / 210;
  const codes = new Uint8Array(blocks * 256);
  const scales = new Uint8Array(blocks * 16);
  for (let block = 0; block < blocks; block++) {
    for (let half = 0; half < 2; half++) {
      const low = block * 210 + half * 64;
      const high = block * 210 + 128 + half * 32;
      const k = block * 256 + half * 128;
      for (let i = 0; i < 32; i++) {
        const a = bytes[low + i]!;
        const b = bytes[low + 32 + i]!;
        const top = bytes[high + i]!;
        codes[k + i] = (a & 15) | ((top & 3) << 4);
        codes[k + 32 + i] = (b & 15) | ((top & 12) << 2);
        codes[k + 64 + i] = (a >> 4) | (top & 48);
        codes[k + 96 + i] = (b >> 4) | ((top & 192) >> 2);
      }
    }
    for (let g = 0; g < 16; g++) scales[block * 16 + g] = bytes[block * 210 + 192 + g]!;
  }
  return { bits: 6, groupSize: 16, codes, scale: twoLevel("two-level-i8", scales, bytes, 210, 208), zero: 32 };
}

/** d f16, u16 of high scale bits, 4 bytes of low ones, 128 bytes of nibbles: d · (scale − 32) · book[q]. */
export function decodeIQ4_XS(bytes: Uint8Array): Decoded {
  const blocks = bytes.byteLength / 136;
  const codes = new Uint8Array(blocks * 256);
  const scales = new Uint8Array(blocks * 8);
  for (let block = 0; block < blocks; block++) {
    const p = block * 136;
    const high = bytes[p + 2]! | (bytes[p + 3]! << 8);
    for (let g = 0; g < 8; g++) {
      const low = (bytes[p + 4 + (g >> 1)]! >> (4 * (g & 1))) & 15;
      scales[block * 8 + g] = (low | (((high >> (2 * g)) & 3) << 4)) - 32;
      unpackNibbles(bytes, p + 8 + g * 16, 16, codes, block * 256 + g * 32);
    }
  }
  return {
    bits: 4,
    groupSize: 32,
    codes,
    codeBook: NON_LINEAR_4.slice(),
    scale: twoLevel("two-level-i8", scales, bytes, 136, 0),
    zero: 0,
  };
}

/** 64 bytes of 2-bit codes: each half of 32 bytes has inputs i, 32 + i, 64 + i and 96 + i in byte i, lowest first. */
function unpackPairs(bytes: Uint8Array, at: number, codes: Uint8Array, k: number): void {
  for (let half = 0; half < 2; half++) {
    for (let i = 0; i < 32; i++) {
      const four = bytes[at + half * 32 + i]!;
      const to = k + half * 128 + i;
      codes[to] = four & 3;
      codes[to + 32] = (four >> 2) & 3;
      codes[to + 64] = (four >> 4) & 3;
      codes[to + 96] = four >> 6;
    }
  }
}

/**
 * The 12 bytes of 8 scales and 8 mins of 6 bits: of the first four each a byte's low bits; of the last four the low
 * nibbles in bytes 8 to 11, the high bits atop the first eight bytes.
 */
function scalesAndMins(bytes: Uint8Array, blockBytes: number): { scale: GroupValues; offset: GroupValues } {
  const blocks = bytes.byteLength / blockBytes;
  const scales = new Uint8Array(blocks * 8);
  const mins = new Uint8Array(blocks * 8);
  for (let block = 0; block < blocks; block++) {
    const s = block * blockBytes + 4;
    const g = block * 8;
    for (let i = 0; i < 4; i++) {
      const scale = bytes[s + i]!;
      const min = bytes[s + 4 + i]!;
      const low = bytes[s + 8 + i]!;
      scales[g + i] = scale & 63;
      mins[g + i] = min & 63;
      scales[g + 4 + i] = (low & 15) | ((scale >> 6) << 4);
      mins[g + 4 + i] = (low >> 4) | ((min >> 6) << 4);
    }
  }
  return {
    scale: twoLevel("two-level-u8", scales, bytes, blockBytes, 0),
    offset: twoLevel("two-level-u8", mins, bytes, blockBytes, 2),
  };
}
