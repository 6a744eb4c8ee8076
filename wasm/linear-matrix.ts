/** A matrix record: src/plan/encode.ts, `encodeMatrix`. */
// @ts-ignore: decorator
@unmanaged
export class Matrix {
  quantized: i32;
  address: usize;
  outputs: i32;
  inputs: i32;
  blocks: i32;
  blockBytes: usize;
  /** Kind of the scales, or of float weights. */
  valueKind: i32;
  bits: i32;
  groupSize: i32;
  groups: i32;
  paddedInputs: i32;
  hasZeros: i32;
  zero: i32;
  /** −1: no offsets. */
  offsetKind: i32;
  superSize: i32;
  highAt: usize;
  superScaleAt: usize;
  superOffsetAt: usize;
  scaleAt: usize;
  zeroAt: usize;
  offsetAt: usize;
  /** 16 signed values; all 0: none. */
  codeBook: i32;
}

export const KIND_F32: i32 = 0;
export const KIND_F16: i32 = 1;
export const KIND_BF16: i32 = 2;
export const KIND_TWO_LEVEL_U8: i32 = 3;
export const KIND_TWO_LEVEL_I8: i32 = 4;

export function codeBook(matrix: Matrix): v128 {
  return v128.load(changetype<usize>(matrix) + offsetof<Matrix>("codeBook"));
}

/** How codes become values: their width in bits, or 0 for 4-bit codes that stand for values of a code book. */
export function codeForm(matrix: Matrix): i32 {
  return v128.any_true(codeBook(matrix)) ? 0 : matrix.bits;
}

/** Address of the 16 outputs of a block. */
export function blockOf(matrix: Matrix, block: i32): usize {
  return matrix.address + <usize>block * matrix.blockBytes;
}
