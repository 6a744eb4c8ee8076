import { HalfbyteError } from "../errors.ts";
import type { StringTable } from "../formats/string-table.ts";

/** What an entry is, by the numbers of `tokenizer.ggml.token_type`. */
export const TokenKind: {
  readonly normal: 1;
  readonly unknown: 2;
  readonly control: 3;
  readonly userDefined: 4;
  readonly unused: 5;
  readonly byte: 6;
} = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 };

/** The largest vocabularies have 262,144 entries; ranks must stay under 2^21 (see pair-merger.ts). */
export const MAX_VOCABULARY: number = 1 << 20;

// At most half of the slots are taken, and an honest vocabulary of 262,144 entries needs under 60 steps: more means that
// the entries were chosen to collide, and finding them would take quadratic time.
const MAX_PROBES = 1024;

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * A slot has an id in its lower 20 bits and a part of the hash, never 0, in the others: most entries that only share a
 * slot are told apart without a look at their bytes.
 */
const ID_BITS = 20;
const ID_MASK: number = MAX_VOCABULARY - 1;

/** Entries as raw bytes, found by their bytes. Control, unknown and byte entries are not found: no text spells them. */
export class Vocabulary {
  readonly size: number;
  readonly kinds: Uint8Array;
  readonly #bytes: Uint8Array;
  readonly #offsets: Uint32Array;
  readonly #slots: Int32Array;

  /** `pieces` are the bytes each entry stands for. Throws ERR_LIMIT for a vocabulary too large, or made to collide. */
  constructor(pieces: StringTable, kinds: Uint8Array) {
    this.size = kinds.length;
    if (this.size > MAX_VOCABULARY) {
      throw new HalfbyteError("ERR_LIMIT", "too many entries in the vocabulary", {
        place: "tokenizer",
        expected: `at most ${MAX_VOCABULARY}`,
        got: String(this.size),
      });
    }
    this.kinds = kinds;
    this.#bytes = pieces.bytes;
    this.#offsets = pieces.offsets;
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(Math.max(2 * this.size, 2))));
    this.#fillSlots();
  }

  // One loop over plain variables: it runs once, for the most part before the engine has compiled what it calls.
  #fillSlots(): void {
    const { kinds, size } = this;
    const bytes = this.#bytes;
    const offsets = this.#offsets;
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let id = 0; id < size; id++) {
      const start = offsets[id]!;
      const end = offsets[id + 1]!;
      const kind = kinds[id];
      if (start === end || kind === TokenKind.control || kind === TokenKind.unknown || kind === TokenKind.byte)
        continue;
      let hash: number = FNV_OFFSET | 0;
      for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, FNV_PRIME);
      hash = spread(hash);
      const tag = tagOf(hash);
      let slot = hash & mask;
      for (let probes = 0; slots[slot] !== 0; probes++) {
        const word = slots[slot]!;
        if ((word & ~ID_MASK) === tag && this.#holds(word, tag, bytes, start, end)) break; // the first stays
        if (probes === MAX_PROBES) {
          throw new HalfbyteError("ERR_LIMIT", "too many entries of the vocabulary share a hash", {
            place: "tokenizer",
          });
        }
        slot = (slot + 1) & mask;
      }
      if (slots[slot] === 0) slots[slot] = tag | id;
    }
  }

  /** Is it the slot of the entry `bytes[start .. end]`? */
  #holds(slot: number, tag: number, bytes: Uint8Array, start: number, end: number): boolean {
    const id = slot & ID_MASK;
    return (slot & ~ID_MASK) === tag && this.byteLength(id) === end - start && this.#has(id, 0, bytes, start, end);
  }

  /** Does the entry have `bytes[start .. end]` from its byte `skip` on? */
  #has(id: number, skip: number, bytes: Uint8Array, start: number, end: number): boolean {
    let at = this.#offsets[id]! + skip;
    for (let i = start; i < end; i++, at++) if (this.#bytes[at] !== bytes[i]) return false;
    return true;
  }

  /** The entry spelt by `bytes[start .. end]`. */
  find(bytes: Uint8Array, start = 0, end: number = bytes.length): number | undefined {
    const hash = spread(hashBytes(FNV_OFFSET, bytes, start, end));
    const tag = tagOf(hash);
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let slot = hash & mask; slots[slot] !== 0; slot = (slot + 1) & mask)
      if (this.#holds(slots[slot]!, tag, bytes, start, end)) return slots[slot]! & ID_MASK;
    return undefined;
  }

  /** The entry spelt by two entries one after the other. */
  findPair(left: number, right: number): number | undefined {
    const bytes = this.#bytes;
    const start = this.#offsets[left]!;
    const middle = this.#offsets[left + 1]!;
    const rightStart = this.#offsets[right]!;
    const rightEnd = this.#offsets[right + 1]!;
    const length = middle - start + rightEnd - rightStart;
    const hash = spread(hashBytes(hashBytes(FNV_OFFSET, bytes, start, middle), bytes, rightStart, rightEnd));
    const tag = tagOf(hash);
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let slot = hash & mask; slots[slot] !== 0; slot = (slot + 1) & mask) {
      const id = slots[slot]! & ID_MASK;
      if (
        (slots[slot]! & ~ID_MASK) === tag &&
        this.byteLength(id) === length &&
        this.#has(id, 0, bytes, start, middle) &&
        this.#has(id, middle - start, bytes, rightStart, rightEnd)
      )
        return id;
    }
    return undefined;
  }

  /** How many bytes an entry stands for. */
  byteLength(id: number): number {
    return this.#offsets[id + 1]! - this.#offsets[id]!;
  }

  /** The bytes an entry stands for: a view, not a copy. */
  bytes(id: number): Uint8Array {
    return this.#bytes.subarray(this.#offsets[id]!, this.#offsets[id + 1]!);
  }
}

/** FNV-1a, which can go on from the hash of a beginning. */
function hashBytes(seed: number, bytes: Uint8Array, start: number, end: number): number {
  let hash = seed | 0;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, FNV_PRIME);
  return hash;
}

function spread(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return (mixed ^ (mixed >>> 13)) >>> 0;
}

function tagOf(hash: number): number {
  return ((hash >>> ID_BITS) | 1) << ID_BITS;
}
