// Words of the control area, by address. src/executors/wasm/control.ts has the same list.

/** Set by whoever starts a command, and waited on by idle threads: one up for each command. */
export const START: usize = 64;
export const COMMAND: usize = 128;
export const OP_RECORDS: usize = 132;
export const OP_RECORDS_END: usize = 136;
/** Addresses of the matrix records, and of a table of the vectors' addresses. */
export const MATRICES: usize = 140;
export const VECTORS: usize = 144;
export const ARENA: usize = 148;
/** Claim counters, one for each op and thread, zeroed before a step. */
export const CLAIMS: usize = 152;
export const SCRATCH: usize = 156;
/** Scratch bytes of one thread. */
export const SCRATCH_STRIDE: usize = 160;
export const TOKEN_IDS: usize = 164;
export const LOGIT_ROWS: usize = 168;
/** i32 by row: its position, and the address of its sequence's block ids. */
export const POSITIONS: usize = 172;
export const BLOCK_TABLES: usize = 176;
/** Rope rows of all tables: f32 [tables][maxRows][rotary of the table]; and a table of where each begins. */
export const ROPE_TABLES: usize = 180;
/** Pieces of attention: i32 (first row, rows, position of the first row). */
export const PIECES: usize = 184;
export const PIECE_COUNT: usize = 188;
export const TOKEN_COUNT: usize = 192;
export const LOGIT_COUNT: usize = 196;
/** Rows selected to go on to the end; logits are computed of all of them or of none. */
export const SELECTED_COUNT: usize = 200;
export const CACHE: usize = 204;
/** Bytes of 16 blocks, which stand together: see store.ts. */
export const CACHE_CHUNK_BYTES: usize = 208;
export const CACHE_HEAD_BYTES: usize = 212;
export const CACHE_KV_HEADS: usize = 216;
export const CACHE_HEAD_SIZE: usize = 220;
/** 0: f16, 1: f32. */
export const CACHE_F32: usize = 224;
export const ACTIVATION_MAX: usize = 228;
// Arguments of the packing command.
export const PACK_TYPE: usize = 232;
export const PACK_SOURCE: usize = 236;
export const PACK_ROW_BYTES: usize = 240;
export const PACK_ROWS: usize = 244;
export const PACK_MATRIX: usize = 248;
export const PACK_FIRST_BLOCK: usize = 252;

// Words that threads write, each on a cache line of its own.
export const ARRIVED: usize = 320;
export const EPOCH: usize = 384;
export const SLEEPERS: usize = 388;
export const FINISHED: usize = 448;
export const PACK_CLAIM: usize = 512;

// Constants, four of each: V8 makes a constant vector anew at every use, which costs more than loading it.

/** The bits of an f16 moved into place in an f32: sign, and 13 places up. */
export const HALF_BITS: usize = 576;
/** 2^112: the biases of f16 and f32 exponents are 15 and 127. */
export const HALF_FACTOR: usize = 592;
export const CONTROL_END: usize = 640;
