import { ARENA } from "./control";

/** Word `index` of an op record: src/plan/encode.ts says what stands where. */
// @ts-ignore: decorator
@inline
export function word(record: usize, index: i32): i32 {
  return load<i32>(record + (<usize>index << 2));
}

// @ts-ignore: decorator
@inline
export function number(record: usize, index: i32): f32 {
  return load<f32>(record + (<usize>index << 2));
}

/** Address of row m of the buffer whose offset and stride stand at words `index` and `index + 1`. */
// @ts-ignore: decorator
@inline
export function row(record: usize, index: i32, m: i32): usize {
  return load<usize>(ARENA) + <usize>word(record, index) + <usize>m * <usize>word(record, index + 1);
}

/** The first field of a record; before it stand opcode, length, sync and rows. */
export const FIELDS: i32 = 4;
