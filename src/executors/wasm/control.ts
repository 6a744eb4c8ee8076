/** Byte addresses of the control area at the beginning of an executor's memory. wasm/control.ts has the same list. */
export const CONTROL = {
  start: 64,
  command: 128,
  opRecords: 132,
  opRecordsEnd: 136,
  matrices: 140,
  vectors: 144,
  arena: 148,
  claims: 152,
  scratch: 156,
  scratchStride: 160,
  tokenIds: 164,
  logitRows: 168,
  positions: 172,
  blockTables: 176,
  ropeTables: 180,
  pieces: 184,
  pieceCount: 188,
  tokenCount: 192,
  logitCount: 196,
  selectedCount: 200,
  cache: 204,
  cacheChunkBytes: 208,
  cacheHeadBytes: 212,
  cacheKvHeads: 216,
  cacheHeadSize: 220,
  cacheF32: 224,
  activationMax: 228,
  packType: 232,
  packSource: 236,
  packRowBytes: 240,
  packRows: 244,
  packMatrix: 248,
  packFirstBlock: 252,
  epoch: 384,
  finished: 448,
  packClaim: 512,
  halfBits: 576,
  halfFactor: 592,
} as const;

/** The first byte after the control area. */
export const CONTROL_END = 640;

/** What a pool's threads can be told to do. */
export const COMMAND = { step: 1, pack: 2, stop: 3 } as const;
export type Command = keyof typeof COMMAND;
