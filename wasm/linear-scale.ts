import { groupParameters } from "./linear-groups";
import { halvesToFloats4 } from "./linear-half";
import { KIND_BF16, KIND_F16, KIND_TWO_LEVEL_I8, KIND_TWO_LEVEL_U8 } from "./linear-matrix";
import {
  HALF_FACTOR,
  HALF_MASK,
  INTEGERS,
  OFFSETS,
  runSum,
  SCALES,
  SUMS,
  SUPER_OFFSETS,
  SUPER_SCALES,
  SUPERS_ROOM,
  Task,
  ZEROS,
} from "./linear-task";
import { BfloatValues, HalfValues, SignedLevels, UnsignedLevels } from "./linear-values";

// One row: from integer sums in scratch to the 16 sums of a block. Scales and then offsets, as memory is to be read in
// order.

/** An f16 infinity without its sign, moved up by one. */
const INFINITE: i16 = <i16>0xf800;

// What a pass over the runs does.
/** Scales the integer sums and adds them up. */
const SCALE: i32 = 0;
/** Scales the integer sums where they stand. */
const SCALE_IN_SCRATCH: i32 = 1;
/** Adds offsets to those, and adds them up. */
const OFFSET: i32 = 2;

/**
 * Row m: arithmetic rule 4 from t = I − zero · S on, for the chunk's runs. The usual kinds of scales and offsets are
 * read in place. False: one of them is no finite f16; the integer sums are lost, and `scaleSumsOfAnyKind` is to be
 * used.
 */
export function scaleSums(task: Task, m: i32, zeroBias: i32): bool {
  const scales = task.matrix.valueKind;
  const offsets = task.matrix.offsetKind;
  if (!task.hasZeros) {
    if (scales == KIND_F16 && offsets < 0) return halfScales(task, m);
    if (scales == KIND_F16 && offsets == KIND_F16) return halfScalesInScratch(task, m) && halfOffsets(task, m);
    if (scales == KIND_TWO_LEVEL_U8 && offsets == KIND_TWO_LEVEL_U8 && storeSupers(task))
      return unsignedScalesInScratch(task, m) && unsignedOffsets(task, m);
    if (scales == KIND_TWO_LEVEL_I8 && offsets < 0 && storeSupers(task)) return signedScales(task, m);
    if (scales == KIND_BF16 && offsets < 0) return bfloatScales(task, m);
  }
  scaleSumsOfAnyKind(task, m, zeroBias);
  return true;
}

// A function each: engines compile those that a model needs.

function halfScales(task: Task, m: i32): bool {
  return pass<HalfValues>(SCALE, task, m);
}

function halfScalesInScratch(task: Task, m: i32): bool {
  return pass<HalfValues>(SCALE_IN_SCRATCH, task, m);
}

function halfOffsets(task: Task, m: i32): bool {
  return pass<HalfValues>(OFFSET, task, m);
}

function unsignedScalesInScratch(task: Task, m: i32): bool {
  return pass<UnsignedLevels>(SCALE_IN_SCRATCH, task, m);
}

function unsignedOffsets(task: Task, m: i32): bool {
  return pass<UnsignedLevels>(OFFSET, task, m);
}

function signedScales(task: Task, m: i32): bool {
  return pass<SignedLevels>(SCALE, task, m);
}

function bfloatScales(task: Task, m: i32): bool {
  return pass<BfloatValues>(SCALE, task, m);
}

/** The super scales and offsets of a chunk to scratch; offsets of this kind are subtracted. False: there is no room. */
function storeSupers(task: Task): bool {
  const matrix = task.matrix;
  const number = task.first / matrix.superSize;
  const count = (task.first + task.count - 1) / matrix.superSize - number + 1;
  if (count > SUPERS_ROOM) return false;
  const scratch = changetype<usize>(task);
  superFloats(task.block + matrix.superScaleAt + (<usize>number << 5), count, 1, scratch + SUPER_SCALES);
  if (task.hasOffsets)
    superFloats(task.block + matrix.superOffsetAt + (<usize>number << 5), count, -1, scratch + SUPER_OFFSETS);
  return true;
}

function superFloats(p: usize, count: i32, sign: f32, target: usize): void {
  const sign4 = f32x4.splat(sign);
  for (const end = p + (<usize>count << 5); p < end; p += 8, target += 16)
    v128.store(target, f32x4.mul(sign4, halvesToFloats4(v128.load_ext<i16>(p))));
}

/** Values: a class of linear-values.ts. Where there are offsets, the zero point is 0. */
// @ts-ignore: decorator
@inline
function pass<Values>(part: i32, task: Task, m: i32): bool {
  const values = changetype<Values>(0);
  const matrix = task.matrix;
  const scratch = changetype<usize>(task);
  const sums = scratch + SUMS + (<usize>m << 6);
  const mask = v128.load(scratch, HALF_MASK);
  const factor = v128.load(scratch, HALF_FACTOR);
  const first = task.first;
  const run = task.run;
  const row = task.x + <usize>m * task.xStride;
  let scaleAt = row + task.scaleAt + (<usize>(first / task.inputGroup) << 2);
  let scaleLeft = task.inputGroup - (first % task.inputGroup);
  let sumAt = task.sumAt + <usize>(first / run) * task.sumStep;
  const group = first / matrix.groupSize;
  let groupLeft = matrix.groupSize - (first - group * matrix.groupSize);
  let at = task.block + (part == OFFSET ? matrix.offsetAt : matrix.scaleAt) + <usize>group * values.step();
  let supers = scratch + (part == OFFSET ? SUPER_OFFSETS : SUPER_SCALES);
  let superLeft = values.twoLevel() ? matrix.superSize - (first % matrix.superSize) : 0;
  const zero = task.zero;
  let largest = i16x8.splat(0);
  let p = scratch;
  let f0 = v128.load(sums);
  let f1 = v128.load(sums, 16);
  let f2 = v128.load(sums, 32);
  let f3 = v128.load(sums, 48);
  for (let runs = task.runs; runs > 0; runs--) {
    let u0 = v128.load(p, INTEGERS);
    let u1 = v128.load(p, INTEGERS + 16);
    let u2 = v128.load(p, INTEGERS + 32);
    let u3 = v128.load(p, INTEGERS + 48);
    if (part == SCALE) {
      const s = i32x4.splat(zero * runSum(row, sumAt, task.sumStep, task.sumEnd));
      u0 = i32x4.sub(u0, s);
      u1 = i32x4.sub(u1, s);
      u2 = i32x4.sub(u2, s);
      u3 = i32x4.sub(u3, s);
    }
    if (part == OFFSET) {
      const s = f32x4.splat(<f32>runSum(row, sumAt, task.sumStep, task.sumEnd));
      u0 = f32x4.add(u0, f32x4.mul(values.value(at, 0, supers, mask, factor), s));
      u1 = f32x4.add(u1, f32x4.mul(values.value(at, 1, supers, mask, factor), s));
      u2 = f32x4.add(u2, f32x4.mul(values.value(at, 2, supers, mask, factor), s));
      u3 = f32x4.add(u3, f32x4.mul(values.value(at, 3, supers, mask, factor), s));
    } else {
      u0 = f32x4.mul(values.value(at, 0, supers, mask, factor), f32x4.convert_i32x4_s(u0));
      u1 = f32x4.mul(values.value(at, 1, supers, mask, factor), f32x4.convert_i32x4_s(u1));
      u2 = f32x4.mul(values.value(at, 2, supers, mask, factor), f32x4.convert_i32x4_s(u2));
      u3 = f32x4.mul(values.value(at, 3, supers, mask, factor), f32x4.convert_i32x4_s(u3));
    }
    largest = values.largest(largest, at);
    if (part == SCALE_IN_SCRATCH) {
      v128.store(p, u0, INTEGERS);
      v128.store(p, u1, INTEGERS + 16);
      v128.store(p, u2, INTEGERS + 32);
      v128.store(p, u3, INTEGERS + 48);
    } else {
      const scale = v128.load32_splat(scaleAt);
      f0 = f32x4.add(f0, f32x4.mul(u0, scale));
      f1 = f32x4.add(f1, f32x4.mul(u1, scale));
      f2 = f32x4.add(f2, f32x4.mul(u2, scale));
      f3 = f32x4.add(f3, f32x4.mul(u3, scale));
      sumAt += task.sumStep;
      scaleLeft -= run;
      if (scaleLeft <= 0) {
        scaleLeft = task.inputGroup;
        scaleAt += 4;
      }
    }
    p += 64;
    groupLeft -= run;
    if (groupLeft <= 0) {
      groupLeft = matrix.groupSize;
      at += values.step();
    }
    if (values.twoLevel()) {
      superLeft -= run;
      if (superLeft <= 0) {
        superLeft = matrix.superSize;
        supers += 64;
      }
    }
  }
  if (v128.any_true(i16x8.ge_u(largest, i16x8.splat(INFINITE)))) return false;
  if (part == SCALE_IN_SCRATCH) return true;
  v128.store(sums, f0);
  v128.store(sums, f1, 16);
  v128.store(sums, f2, 32);
  v128.store(sums, f3, 48);
  return true;
}

/** Row m: the same for all kinds and all numbers. */
export function scaleSumsOfAnyKind(task: Task, m: i32, zeroBias: i32): void {
  groupParameters(task, zeroBias);
  const sums = changetype<usize>(task) + SUMS + (<usize>m << 6);
  const first = task.first;
  const run = task.run;
  const row = task.x + <usize>m * task.xStride;
  let scaleAt = task.scaleAt + (<usize>(first / task.inputGroup) << 2);
  let scaleLeft = task.inputGroup - (first % task.inputGroup);
  let sumAt = task.sumAt + <usize>(first / run) * task.sumStep;
  let p = changetype<usize>(task);
  const zero = task.zero;
  let f0 = v128.load(sums);
  let f1 = v128.load(sums, 16);
  let f2 = v128.load(sums, 32);
  let f3 = v128.load(sums, 48);
  for (let runs = task.runs; runs > 0; runs--) {
    let i0 = v128.load(p, INTEGERS);
    let i1 = v128.load(p, INTEGERS + 16);
    let i2 = v128.load(p, INTEGERS + 32);
    let i3 = v128.load(p, INTEGERS + 48);
    const sum = runSum(row, sumAt, task.sumStep, task.sumEnd);
    sumAt += task.sumStep;
    if (task.hasZeros) {
      const s = i32x4.splat(sum);
      i0 = i32x4.sub(i0, i32x4.mul(s, v128.load(p, ZEROS)));
      i1 = i32x4.sub(i1, i32x4.mul(s, v128.load(p, ZEROS + 16)));
      i2 = i32x4.sub(i2, i32x4.mul(s, v128.load(p, ZEROS + 32)));
      i3 = i32x4.sub(i3, i32x4.mul(s, v128.load(p, ZEROS + 48)));
    } else {
      const s = i32x4.splat(zero * sum);
      i0 = i32x4.sub(i0, s);
      i1 = i32x4.sub(i1, s);
      i2 = i32x4.sub(i2, s);
      i3 = i32x4.sub(i3, s);
    }
    let u0 = f32x4.mul(v128.load(p, SCALES), f32x4.convert_i32x4_s(i0));
    let u1 = f32x4.mul(v128.load(p, SCALES + 16), f32x4.convert_i32x4_s(i1));
    let u2 = f32x4.mul(v128.load(p, SCALES + 32), f32x4.convert_i32x4_s(i2));
    let u3 = f32x4.mul(v128.load(p, SCALES + 48), f32x4.convert_i32x4_s(i3));
    if (task.hasOffsets) {
      const s = f32x4.splat(<f32>sum);
      u0 = f32x4.add(u0, f32x4.mul(v128.load(p, OFFSETS), s));
      u1 = f32x4.add(u1, f32x4.mul(v128.load(p, OFFSETS + 16), s));
      u2 = f32x4.add(u2, f32x4.mul(v128.load(p, OFFSETS + 32), s));
      u3 = f32x4.add(u3, f32x4.mul(v128.load(p, OFFSETS + 48), s));
    }
    p += 64;
    const scale = v128.load32_splat(row + scaleAt);
    f0 = f32x4.add(f0, f32x4.mul(u0, scale));
    f1 = f32x4.add(f1, f32x4.mul(u1, scale));
    f2 = f32x4.add(f2, f32x4.mul(u2, scale));
    f3 = f32x4.add(f3, f32x4.mul(u3, scale));
    scaleLeft -= run;
    if (scaleLeft <= 0) {
      scaleLeft += task.inputGroup;
      scaleAt += 4;
    }
  }
  v128.store(sums, f0);
  v128.store(sums, f1, 16);
  v128.store(sums, f2, 32);
  v128.store(sums, f3, 48);
}
