import { bfloatsToFloats4, finiteHalves4, halvesToFloats4 } from "./linear-half";
import { KIND_BF16, KIND_F16, KIND_F32, KIND_TWO_LEVEL_I8, KIND_TWO_LEVEL_U8, Matrix } from "./linear-matrix";
import { HALF_FACTOR, HALF_MASK, OFFSETS, SCALES, Task, ZEROS } from "./linear-task";

/** An f16 infinity without its sign, moved up by one. */
const INFINITE: i16 = <i16>0xf800;

/** Scales, offsets and zero points of a chunk's runs to scratch; `zeroBias` is added to every zero point. */
export function groupParameters(task: Task, zeroBias: i32): void {
  const scratch = changetype<usize>(task);
  const matrix = task.matrix;
  const runs = task.runs;
  groupValues(task, matrix.valueKind, matrix.scaleAt, matrix.superScaleAt, 1, runs, scratch + SCALES);
  if (task.hasOffsets)
    groupValues(task, matrix.offsetKind, matrix.offsetAt, matrix.superOffsetAt, -1, runs, scratch + OFFSETS);
  if (task.hasZeros) groupZeros(task, zeroBias, runs, scratch + ZEROS);
}

/** Two-level values are `sign · (super · code)`: an offset of that kind is stored by its magnitude and subtracted. */
function groupValues(task: Task, kind: i32, at: usize, superAt: usize, sign: f32, runs: i32, target: usize): void {
  const values = task.block + at;
  const supers = task.block + superAt;
  if (kind == KIND_F16) flatValues(KIND_F16, task, values, runs, target);
  else if (kind == KIND_TWO_LEVEL_U8) twoLevelValues(false, task, values, supers, sign, runs, target);
  else if (kind == KIND_TWO_LEVEL_I8) twoLevelValues(true, task, values, supers, sign, runs, target);
  else if (kind == KIND_F32) flatValues(KIND_F32, task, values, runs, target);
  else flatValues(KIND_BF16, task, values, runs, target);
}

// @ts-ignore: decorator
@inline
function flatValues(kind: i32, task: Task, values: usize, runs: i32, target: usize): void {
  const groupSize = task.matrix.groupSize;
  const run = task.run;
  const bytes: usize = kind == KIND_F32 ? 64 : 32;
  const group = task.first / groupSize;
  const firstLeft = groupSize - (task.first - group * groupSize);
  const start = values + <usize>group * bytes;
  const end = target + (<usize>runs << 6);
  const mask = v128.load(changetype<usize>(task), HALF_MASK);
  const factor = v128.load(changetype<usize>(task), HALF_FACTOR);
  let largest = i16x8.splat(0);
  let left = firstLeft;
  let at = start;
  for (let to = target; to < end; to += 64) {
    if (kind == KIND_F32) {
      v128.store(to, v128.load(at));
      v128.store(to, v128.load(at, 16), 16);
      v128.store(to, v128.load(at, 32), 32);
      v128.store(to, v128.load(at, 48), 48);
    } else if (kind == KIND_BF16) {
      v128.store(to, bfloatsToFloats4(at));
      v128.store(to, bfloatsToFloats4(at + 8), 16);
      v128.store(to, bfloatsToFloats4(at + 16), 32);
      v128.store(to, bfloatsToFloats4(at + 24), 48);
    } else {
      const a = v128.load(at);
      const b = v128.load(at, 16);
      // Without their sign; infinities and NaN are the largest of all.
      largest = i16x8.max_u(largest, i16x8.max_u(i16x8.shl(a, 1), i16x8.shl(b, 1)));
      v128.store(to, finiteHalves4(i32x4.extend_low_i16x8_s(a), mask, factor));
      v128.store(to, finiteHalves4(i32x4.extend_high_i16x8_s(a), mask, factor), 16);
      v128.store(to, finiteHalves4(i32x4.extend_low_i16x8_s(b), mask, factor), 32);
      v128.store(to, finiteHalves4(i32x4.extend_high_i16x8_s(b), mask, factor), 48);
    }
    left -= run;
    if (left <= 0) {
      left = groupSize;
      at += bytes;
    }
  }
  if (kind != KIND_F16 || !v128.any_true(i16x8.ge_u(largest, i16x8.splat(INFINITE)))) return;
  left = firstLeft;
  at = start;
  for (let to = target; to < end; to += 64) {
    for (let i: usize = 0; i < 64; i += 16) v128.store(to + i, halvesToFloats4(v128.load_ext<i16>(at + (i >> 1))));
    left -= run;
    if (left <= 0) {
      left = groupSize;
      at += bytes;
    }
  }
}

// @ts-ignore: decorator
@inline
function twoLevelValues(
  signed: bool,
  task: Task,
  values: usize,
  supers: usize,
  sign: f32,
  runs: i32,
  target: usize,
): void {
  const groupSize = task.matrix.groupSize;
  const superSize = task.matrix.superSize;
  const run = task.run;
  let first = task.first;
  const sign4 = f32x4.splat(sign);
  let known = -1;
  let s0 = f32x4.splat(0);
  let s1 = s0;
  let s2 = s0;
  let s3 = s0;
  for (let r = 0; r < runs; r++, first += run, target += 64) {
    const number = first / superSize;
    if (number != known) {
      known = number;
      const p = supers + (<usize>number << 5);
      s0 = f32x4.mul(sign4, halvesToFloats4(v128.load_ext<i16>(p)));
      s1 = f32x4.mul(sign4, halvesToFloats4(v128.load_ext<i16>(p, 8)));
      s2 = f32x4.mul(sign4, halvesToFloats4(v128.load_ext<i16>(p, 16)));
      s3 = f32x4.mul(sign4, halvesToFloats4(v128.load_ext<i16>(p, 24)));
    }
    const codes = v128.load(values + (<usize>(first / groupSize) << 4));
    const low = signed ? i16x8.extend_low_i8x16_s(codes) : i16x8.extend_low_i8x16_u(codes);
    const high = signed ? i16x8.extend_high_i8x16_s(codes) : i16x8.extend_high_i8x16_u(codes);
    v128.store(target, f32x4.mul(s0, f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(low))));
    v128.store(target, f32x4.mul(s1, f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(low))), 16);
    v128.store(target, f32x4.mul(s2, f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(high))), 32);
    v128.store(target, f32x4.mul(s3, f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(high))), 48);
  }
}

/** i32 zero points: raised by `bias`, or the task's one for all. */
function groupZeros(task: Task, bias: i32, runs: i32, target: usize): void {
  const zeros = task.block + task.matrix.zeroAt;
  const groupSize = task.matrix.groupSize;
  const run = task.run;
  let first = task.first;
  if (!task.matrix.hasZeros) {
    const zero = i32x4.splat(task.zero);
    for (const end = target + (<usize>runs << 6); target < end; target += 16) v128.store(target, zero);
    return;
  }
  const bias4 = i32x4.splat(bias);
  for (let r = 0; r < runs; r++, first += run, target += 64) {
    const codes = v128.load(zeros + (<usize>(first / groupSize) << 4));
    const low = i16x8.extend_low_i8x16_u(codes);
    const high = i16x8.extend_high_i8x16_u(codes);
    v128.store(target, i32x4.add(bias4, i32x4.extend_low_i16x8_u(low)));
    v128.store(target, i32x4.add(bias4, i32x4.extend_high_i16x8_u(low)), 16);
    v128.store(target, i32x4.add(bias4, i32x4.extend_low_i16x8_u(high)), 32);
    v128.store(target, i32x4.add(bias4, i32x4.extend_high_i16x8_u(high)), 48);
  }
}
