/** Many strings as one run of UTF-8: string i is `bytes[offsets[i] .. offsets[i + 1]]`. */
export interface StringTable {
  readonly bytes: Uint8Array;
  /** One more than there are strings, ascending. */
  readonly offsets: Uint32Array;
}
