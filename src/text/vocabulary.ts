import { HalfbyteError } from "../errors.ts";
import type { StringTable } from "./string-table.ts";

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

/** Entries as raw bytes, found by their bytes. Control, unknown and byte entries are not found: no text spells them. */
export class Vocabulary {
  readonly size: number;
  readonly kinds: Uint8Array;
  readonly #bytes: Uint8Array;
  readonly #offsets: Uint32Array;
  readonly #hashes: Int32Array;
  readonly #slots: Int32Array;
  readonly #mask: number;

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
    this.#hashes = new Int32Array(this.size);
    const slotCount = 2 ** Math.ceil(Math.log2(Math.max(2 * this.size, 2)));
    this.#slots = new Int32Array(slotCount);
    this.#mask = slotCount - 1;
    for (let id = 0; id < this.size; id++) this.#insert(id);
  }

  #insert(id: number): void {
    const start = this.#offsets[id]!;
    const end = this.#offsets[id + 1]!;
    const hash = hashBytes(FNV_OFFSET, this.#bytes, start, end);
    this.#hashes[id] = hash;
    const kind = this.kinds[id];
    if (start === end || kind === TokenKind.control || kind === TokenKind.unknown || kind === TokenKind.byte) return;
    let slot = spread(hash) & this.#mask;
    for (let probes = 0; this.#slots[slot] !== 0; probes++) {
      const other = this.#slots[slot]! - 1;
      if (this.#hashes[other] === hash && this.#matches(other, this.#bytes, start, end, 0)) return; // the first stays
      if (probes === MAX_PROBES) {
        throw new HalfbyteError("ERR_LIMIT", "too many entries of the vocabulary share a hash", { place: "tokenizer" });
      }
      slot = (slot + 1) & this.#mask;
    }
    this.#slots[slot] = id + 1;
  }

  /** Does the entry, from byte `skip` on, equal `bytes[start .. end]`? */
  #matches(id: number, bytes: Uint8Array, start: number, end: number, skip: number): boolean {
    let at = this.#offsets[id]! + skip;
    if (this.#offsets[id + 1]! - at !== end - start) return false;
    for (let i = start; i < end; i++, at++) if (this.#bytes[at] !== bytes[i]) return false;
    return true;
  }

  /** The entry spelt by `bytes[start .. end]`. */
  find(bytes: Uint8Array, start = 0, end: number = bytes.length): number | undefined {
    const hash = hashBytes(FNV_OFFSET, bytes, start, end);
    for (let slot = spread(hash) & this.#mask; this.#slots[slot] !== 0; slot = (slot + 1) & this.#mask) {
      const id = this.#slots[slot]! - 1;
      if (this.#hashes[id] === hash && this.#matches(id, bytes, start, end, 0)) return id;
    }
    return undefined;
  }

  /** The entry spelt by two entries one after the other. */
  findPair(left: number, right: number): number | undefined {
    const split = this.#offsets[left + 1]! - this.#offsets[left]!;
    const start = this.#offsets[right]!;
    const end = this.#offsets[right + 1]!;
    const hash = hashBytes(this.#hashes[left]!, this.#bytes, start, end);
    for (let slot = spread(hash) & this.#mask; this.#slots[slot] !== 0; slot = (slot + 1) & this.#mask) {
      const id = this.#slots[slot]! - 1;
      if (
        this.#hashes[id] === hash &&
        this.#matches(id, this.#bytes, start, end, split) &&
        this.#startsWith(id, left, split)
      )
        return id;
    }
    return undefined;
  }

  #startsWith(id: number, prefix: number, length: number): boolean {
    const at = this.#offsets[id]!;
    const from = this.#offsets[prefix]!;
    for (let i = 0; i < length; i++) if (this.#bytes[at + i] !== this.#bytes[from + i]) return false;
    return true;
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
