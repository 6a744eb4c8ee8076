import { MATRICES, VECTORS } from "./control";

/** Words of a matrix record, and their places: src/plan/encode.ts, `encodeMatrix`. */
export const MATRIX_WORDS: i32 = 25;
export const MATRIX_N: i32 = 2;
export const MATRIX_BLOCKS: i32 = 4;

// @ts-ignore: decorator
@inline
export function matrixAt(index: i32): usize {
  return load<usize>(MATRICES) + <usize>index * (MATRIX_WORDS << 2);
}

/** The vector's address; 0 for index −1, which stands for none. */
// @ts-ignore: decorator
@inline
export function vectorAt(index: i32): usize {
  return index < 0 ? 0 : load<usize>(load<usize>(VECTORS) + (<usize>index << 2));
}
