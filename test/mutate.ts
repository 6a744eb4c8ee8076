/** Numbers below 1 from a seed (mulberry32): the same ones each time. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Numbers that break careless arithmetic. */
const NASTY: readonly bigint[] = [
  ...[0n, 1n, 2n, 7n, 8n, 13n, 31n, 33n, 64n, 255n, 256n, 65535n, 65536n],
  ...[31n, 32n, 53n, 60n, 61n, 62n, 63n, 64n].flatMap((bit) => [2n ** bit - 1n, 2n ** bit, 2n ** bit + 1n]),
];
const NASTY_TEXT: readonly string[] = [
  ...'{}[]",:\\',
  ...["null", "true", "-1", "1.5", "1e999", "0", "18446744073709551615", "9007199254740993", "NaN"],
  ...[
    '"\\ud800"',
    '"__proto__"',
    '"constructor"',
    '"../x"',
    '"dtype"',
    '"F32"',
    "[]",
    "{}",
    "[".repeat(500),
    "\u0000",
    "\uFEFF",
    " ",
  ],
];

/** A changed copy: one to four small changes anywhere, of bytes, of whole numbers, of length, or of JSON text. */
export function mutate(bytes: Uint8Array, random: () => number): Uint8Array {
  let result = bytes.slice();
  const below = (limit: number): number => Math.floor(random() * limit);
  for (let changes = 1 + below(4); changes > 0; changes--) {
    const size = result.byteLength;
    // Headers are where files go wrong: half of all changes are in the first 256 bytes.
    const at = below(random() < 0.5 ? Math.min(256, size) : size);
    const view = new DataView(result.buffer, result.byteOffset, size);
    const nasty = NASTY[below(NASTY.length)]!;
    switch (below(9)) {
      case 0:
        if (size > 0) result[at] = result[at]! ^ (1 << below(8));
        break;
      case 1:
        if (size > 0) result[at] = below(256);
        break;
      case 2:
        if (at + 8 <= size) view.setBigUint64(at, BigInt.asUintN(64, nasty), true);
        break;
      case 3:
        if (at + 4 <= size) view.setUint32(at, Number(BigInt.asUintN(32, nasty)), true);
        break;
      case 4:
        result = result.slice(0, at);
        break;
      case 5:
        result = spliced(result, at, Math.min(size, at + 1 + below(16)), new Uint8Array(0));
        break;
      case 6: {
        const from = below(size);
        result = spliced(result, at, at, result.slice(from, from + 1 + below(64)));
        break;
      }
      case 7:
        result = spliced(result, at, at + below(2), new TextEncoder().encode(NASTY_TEXT[below(NASTY_TEXT.length)]!));
        break;
      default: {
        const from = below(size);
        result.set(result.slice(from, from + Math.min(16, size - at, size - from)), at);
      }
    }
  }
  return result;
}

function spliced(bytes: Uint8Array, from: number, to: number, put: Uint8Array): Uint8Array<ArrayBuffer> {
  const end = Math.max(from, Math.min(to, bytes.byteLength));
  const result = new Uint8Array(bytes.byteLength - (end - from) + put.byteLength);
  result.set(bytes.subarray(0, from));
  result.set(put, from);
  result.set(bytes.subarray(end), from + put.byteLength);
  return result;
}
