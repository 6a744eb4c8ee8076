import type { Recogniser, StackSet } from "./recogniser.ts";

/** Where bytes are in plain text: between two characters, or within one. */
const BETWEEN = 0;
const INVALID = 10;

/** Subtrees with other bytes than those of plain text. */
export const NOT_PLAIN = 255;
/** Characters looked ahead: no short token has more. */
const MAX_ROOM = 16;

/**
 * The state after a byte of plain text: characters that stand for themselves in JSON and end no line. 1 to 3 are so many
 * bytes from the next character, the states after them are those whose next byte is restricted.
 */
function plainTextState(state: number, byte: number): number {
  if (state === BETWEEN) {
    if (byte < 0x80) return byte < 0x20 || byte === 0x22 || byte === 0x5c ? INVALID : BETWEEN;
    if (byte < 0xc2 || byte > 0xf4) return INVALID;
    if (byte < 0xe0) return 1;
    if (byte < 0xf0) return { 224: 4, 237: 5, 226: 8 }[byte] ?? 2;
    return { 240: 6, 244: 7 }[byte] ?? 3;
  }
  if (byte < 0x80 || byte > 0xbf) return INVALID;
  if (state < 4) return state - 1;
  if (state === 4) return byte >= 0xa0 ? 1 : INVALID;
  if (state === 5) return byte < 0xa0 ? 1 : INVALID;
  if (state === 6) return byte >= 0x90 ? 2 : INVALID;
  if (state === 7) return byte < 0x90 ? 2 : INVALID;
  if (state === 8) return byte === 0x80 ? 9 : 1;
  return byte === 0xa8 || byte === 0xa9 ? INVALID : BETWEEN; // U+2028 and U+2029
}

/**
 * For each node of a tree in walking order that stands between two characters: how many characters its subtree has one
 * after the other at most; NOT_PLAIN where the subtree has other bytes.
 */
export function plainLengths(byte: Uint8Array, depth: Uint16Array): Uint8Array {
  const states = new Uint8Array(byte.length);
  const parents = new Int32Array(byte.length);
  const path: number[] = [0];
  for (let node = 1; node < byte.length; node++) {
    const parent = path[depth[node]! - 1]!;
    parents[node] = parent;
    states[node] = plainTextState(states[parent]!, byte[node]!);
    path[depth[node]!] = node;
  }
  const lengths = new Uint8Array(byte.length);
  for (let node = byte.length - 1; node > 0; node--) {
    const parent = parents[node]!;
    const begins = states[parent] === BETWEEN ? 1 : 0;
    const length = states[node] === INVALID ? NOT_PLAIN : Math.min(NOT_PLAIN, begins + lengths[node]!);
    lengths[parent] = Math.max(lengths[parent]!, length);
  }
  return lengths.map((length, node) => (states[node] === BETWEEN ? length : NOT_PLAIN));
}

/** How many characters of any plain text can follow a set: Infinity, or 16 at most. */
export function plainRoom(recogniser: Recogniser, set: StackSet, classOfByte: Uint8Array): number {
  let room = 0;
  for (let at = set; room < MAX_ROOM; room++) {
    at.plainNext ??= plainSuccessor(recogniser, at, classOfByte) ?? "several";
    if (at.plainNext === at) return Infinity;
    if (at.plainNext === "several") break;
    at = at.plainNext;
  }
  return room;
}

/** The set to which every plain character leads, past nothing that is cut off; undefined if they lead to several. */
function plainSuccessor(recogniser: Recogniser, set: StackSet, classOfByte: Uint8Array): StackSet | undefined {
  let successor: StackSet | undefined;
  const agree = (at: StackSet, state: number): boolean => {
    // Bytes of one class that lead to one state need but one look.
    const seen = new Set<number>();
    for (let byte = 0; byte < 256; byte++) {
      const nextState = plainTextState(state, byte);
      const key = classOfByte[byte]! * 16 + nextState;
      if (nextState === INVALID || seen.has(key)) continue;
      seen.add(key);
      const next = recogniser.step(at, classOfByte[byte]!);
      if (next === recogniser.dead || hasHole(next)) return false;
      if (nextState !== BETWEEN) {
        if (!agree(next, nextState)) return false;
      } else if (next !== (successor ??= next)) return false;
    }
    return true;
  };
  return !hasHole(set) && agree(set, BETWEEN) ? successor : undefined;
}

function hasHole(set: StackSet): boolean {
  return set.entries.some(({ expression }) => expression.kind === "hole");
}
