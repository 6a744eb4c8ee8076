import { Matrix } from "./linear-matrix";

/** Rows that share one unpacking of a block. */
export const ROW_BATCH: i32 = 128;
/** Runs whose parameters are made at once. */
export const CHUNK_RUNS: i32 = 128;
/** Inputs unpacked at once, where several rows share it. A run has 16 inputs at least. */
export const CHUNK_INPUTS: i32 = 1024;
/** The same for float weights, which are wider. */
export const FLOAT_CHUNK_INPUTS: i32 = 256;

/**
 * What a thread works on, at the start of its scratch: some rows of quantised inputs, and a chunk of a block's inputs.
 */
// @ts-ignore: decorator
@unmanaged
export class Task {
  matrix: Matrix;
  /** First row: codes at 0, f32 scales at scaleAt, i32 sums of codes at sumAt, up to sumEnd. */
  x: usize;
  xStride: usize;
  rows: i32;
  scaleAt: usize;
  sumAt: usize;
  sumEnd: usize;
  /** Inputs under one scale of a row. */
  inputGroup: i32;
  /** Inputs summed as integers; and bytes of the stored sums that lie in them. */
  run: i32;
  sumStep: usize;
  /** The zero point, where it is one for all. */
  zero: i32;
  hasZeros: i32;
  hasOffsets: i32;
  /** The chunk: its block, its first input, and its inputs and runs from there. */
  block: usize;
  first: i32;
  count: i32;
  runs: i32;
}

// What else stands in scratch, in bytes from its start.

// Constants of the inner loops, from memory so that they stay in registers: V8 makes a constant anew at every use, by
// three instructions (bench/lab/wasm-linear.md).
/** 15 in bytes. */
export const NIBBLE_MASK: usize = 80;
/** 15 and 255 in 16-bit lanes. */
export const WORD_NIBBLE_MASK: usize = 96;
export const WORD_BYTE_MASK: usize = 112;
/** 16, 48 and 240 in bytes: the bits that 5-, 6- and 8-bit codes have above a nibble. */
export const HIGH_MASK: usize = 128;
/** The upper plane's bits of a 5- or 6-bit code: 1 or 3 in bytes, and in 16-bit lanes. */
export const UPPER_MASK: usize = 144;
export const UPPER_WORD_MASK: usize = 160;
/** For f16 to f32: linear-half.ts. */
export const HALF_MASK: usize = 176;
export const HALF_FACTOR: usize = 192;

/** f32 [ROW_BATCH][16]: sums so far. */
export const SUMS: usize = 256;
// For each run of a chunk, 16 numbers: i32 sums, f32 scales, f32 offsets, i32 zero points; set apart by a little more
// than 8192 bytes, so that those of one run do not meet in one set of the first-level cache.
export const INTEGERS: usize = 8448;
export const SCALES: usize = 17984;
export const OFFSETS: usize = 27520;
export const ZEROS: usize = 37056;
/** Unpacked codes, or f32 weights, of a chunk; 32 bytes an input. */
export const CODES: usize = 46592;
/** i32 [4][CHUNK_RUNS]: sums of codes of a tile's rows. */
export const TILE_SUMS: usize = 79360;
export const TILE_SUMS_STRIDE: usize = 512;
/** f32 [SUPERS_ROOM][16]: super scales and super offsets of a chunk. */
export const SUPERS_ROOM: i32 = 20;
export const SUPER_SCALES: usize = 81408;
export const SUPER_OFFSETS: usize = 82688;
export const LINEAR_SCRATCH_BYTES: i32 = 83968;

/** The sum of a row's codes in a run, from the sums stored `at` bytes into the row. */
// @ts-ignore: decorator
@inline
export function runSum(row: usize, at: usize, step: usize, end: usize): i32 {
  let sum = load<i32>(row + at);
  const last = min(at + step, end);
  for (at += 4; at < last; at += 4) sum += load<i32>(row + at);
  return sum;
}
