import { dotBytes } from "./linear-bytes";
import { CODES, OFFSETS, runSum, SCALES, SUMS, Task, TILE_SUMS, TILE_SUMS_STRIDE, ZEROS } from "./linear-task";

// Four rows against an unpacked chunk, two vectors of 4 outputs at a time: 8 sums, 4 vectors of weights, two splats and
// room for products fill the 16 registers of x86.

/** 16-bit activations: 32-bit sums throughout. */
const WORDS: i32 = 0;
/** 8-bit activations and codes up to 15: sums of 8 quads fit 16 bits. */
const NIBBLES: i32 = 1;
/** Codes up to 63: sums of 2 quads fit. */
const WIDE_CODES: i32 = 2;
/** Two planes of nibbles, the second worth 16: the two vectors are planes, not outputs. */
const PLANES: i32 = 3;

// What a run ends with.
const CONSTANT_ZERO: i32 = 0;
const ONLY_OFFSETS: i32 = 1;
const ONLY_ZEROS: i32 = 2;
const ZEROS_AND_OFFSETS: i32 = 3;

/** Inputs whose products with nibbles fit a 16-bit sum. */
const NARROW_INPUTS: i32 = 32;

/**
 * Adds the unpacked chunk's runs to the sums in scratch, for rows 0 … rows − 1, a multiple of 4. Forms: linear-row.ts.
 */
export function tileChunk(task: Task, rows: i32, form: i32, bytes: bool): void {
  if (ASC_FEATURE_RELAXED_SIMD && bytes) {
    const long = task.run > NARROW_INPUTS;
    if (form == 4) {
      if (long) longNibbleTiles(task, rows);
      else nibbleTiles(task, rows);
    } else if (form == 5 || form == 6) wideCodeTiles(task, rows);
    else if (long) longPlaneTiles(task, rows);
    else planeTiles(task, rows);
  } else wordTiles(task, rows);
}

// A function each: engines compile those that a model needs.

function wordTiles(task: Task, rows: i32): void {
  for (let m = 0; m < rows; m += 4) tile(WORDS, false, task, m);
}

function nibbleTiles(task: Task, rows: i32): void {
  for (let m = 0; m < rows; m += 4) tile(NIBBLES, false, task, m);
}

function longNibbleTiles(task: Task, rows: i32): void {
  for (let m = 0; m < rows; m += 4) tile(NIBBLES, true, task, m);
}

function wideCodeTiles(task: Task, rows: i32): void {
  for (let m = 0; m < rows; m += 4) tile(WIDE_CODES, false, task, m);
}

function planeTiles(task: Task, rows: i32): void {
  for (let m = 0; m < rows; m += 4) tile(PLANES, false, task, m);
}

function longPlaneTiles(task: Task, rows: i32): void {
  for (let m = 0; m < rows; m += 4) tile(PLANES, true, task, m);
}

/** Sum plus the products of two steps. */
// @ts-ignore: decorator
@inline
function addSteps(kind: i32, sum: v128, x: v128, y: v128, w: v128, z: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD && kind != WORDS) {
    const products = i16x8.add(dotBytes(x, w), dotBytes(y, z));
    return kind == WIDE_CODES
      ? i32x4.add(sum, i32x4.extadd_pairwise_i16x8_s(products))
      : i16x8.add(sum, products);
  }
  return i32x4.add(sum, i32x4.add(i32x4.dot_i16x8_s(x, w), i32x4.dot_i16x8_s(y, z)));
}

// @ts-ignore: decorator
@inline
function widen(kind: i32, sums: v128): v128 {
  return kind == NIBBLES || kind == PLANES ? i32x4.extadd_pairwise_i16x8_s(sums) : sums;
}

/** Rows m … m + 3. `long`: runs are longer than NARROW_INPUTS. */
// @ts-ignore: decorator
@inline
function tile(kind: i32, long: bool, task: Task, m: i32): void {
  const scratch = changetype<usize>(task);
  const first = task.first;
  const run = task.run;
  const stride = task.xStride;
  const row0 = task.x + <usize>m * stride;
  const row1 = row0 + stride;
  const row2 = row1 + stride;
  const row3 = row2 + stride;
  const zero = i32x4.splat(task.zero);
  const withoutZeros = task.hasOffsets ? ONLY_OFFSETS : CONSTANT_ZERO;
  const ends = task.hasZeros ? (task.hasOffsets ? ZEROS_AND_OFFSETS : ONLY_ZEROS) : withoutZeros;
  // Sums of codes: where one stands for each run, in the rows; else added up in scratch.
  let sums = row0 + task.sumAt + <usize>(first / run) * task.sumStep;
  let sumStride = stride;
  if (task.sumStep != 4) {
    sums = addRunSums(task, row0);
    sumStride = TILE_SUMS_STRIDE;
  }
  const inputsInPair = kind == WORDS ? 4 : 8;
  /** Bytes of weights in a step, and from one vector to the other. */
  const step: usize = kind == PLANES ? 128 : 64;
  const other: usize = kind == PLANES ? 64 : 16;
  for (let v: usize = 0; v < 64; v += kind == PLANES ? 16 : 32) {
    let w = scratch + CODES + v;
    let x: usize = kind == WORDS ? <usize>first << 1 : <usize>first;
    let scaleAt = task.scaleAt + (<usize>(first / task.inputGroup) << 2);
    let scaleLeft = task.inputGroup - (first % task.inputGroup);
    let sumAt: usize = 0;
    let left = task.count;
    let p = scratch + v;
    const target = scratch + SUMS + (<usize>m << 6) + v;
    for (let runs = task.runs; runs > 0; runs--) {
      let a0 = i32x4.splat(0);
      let a1 = a0;
      let b0 = a0;
      let b1 = a0;
      let c0 = a0;
      let c1 = a0;
      let d0 = a0;
      let d1 = a0;
      let s0 = a0;
      let s1 = a0;
      let t0 = a0;
      let t1 = a0;
      let u0 = a0;
      let u1 = a0;
      let v0 = a0;
      let v1 = a0;
      let n = (min(run, left) + 15) & ~15;
      do {
        let part = long ? min(n, NARROW_INPUTS) : n;
        n -= part;
        while (true) {
          let w0 = v128.load(w);
          let w1 = v128.load(w + other);
          let z0 = v128.load(w + step);
          let z1 = v128.load(w + step + other);
          let xs = v128.load32_splat(row0 + x);
          let ys = v128.load32_splat(row0 + x, 4);
          s0 = addSteps(kind, s0, xs, ys, w0, z0);
          s1 = addSteps(kind, s1, xs, ys, w1, z1);
          xs = v128.load32_splat(row1 + x);
          ys = v128.load32_splat(row1 + x, 4);
          t0 = addSteps(kind, t0, xs, ys, w0, z0);
          t1 = addSteps(kind, t1, xs, ys, w1, z1);
          xs = v128.load32_splat(row2 + x);
          ys = v128.load32_splat(row2 + x, 4);
          u0 = addSteps(kind, u0, xs, ys, w0, z0);
          u1 = addSteps(kind, u1, xs, ys, w1, z1);
          xs = v128.load32_splat(row3 + x);
          ys = v128.load32_splat(row3 + x, 4);
          v0 = addSteps(kind, v0, xs, ys, w0, z0);
          v1 = addSteps(kind, v1, xs, ys, w1, z1);
          x += 8;
          w += 2 * step;
          // Never taken, as runs are of sixteens: it keeps the compilers from weaving the two halves into one, for
          // which there are not enough registers.
          if ((part -= inputsInPair) == 0) break;
          w0 = v128.load(w);
          w1 = v128.load(w + other);
          z0 = v128.load(w + step);
          z1 = v128.load(w + step + other);
          xs = v128.load32_splat(row0 + x);
          ys = v128.load32_splat(row0 + x, 4);
          s0 = addSteps(kind, s0, xs, ys, w0, z0);
          s1 = addSteps(kind, s1, xs, ys, w1, z1);
          xs = v128.load32_splat(row1 + x);
          ys = v128.load32_splat(row1 + x, 4);
          t0 = addSteps(kind, t0, xs, ys, w0, z0);
          t1 = addSteps(kind, t1, xs, ys, w1, z1);
          xs = v128.load32_splat(row2 + x);
          ys = v128.load32_splat(row2 + x, 4);
          u0 = addSteps(kind, u0, xs, ys, w0, z0);
          u1 = addSteps(kind, u1, xs, ys, w1, z1);
          xs = v128.load32_splat(row3 + x);
          ys = v128.load32_splat(row3 + x, 4);
          v0 = addSteps(kind, v0, xs, ys, w0, z0);
          v1 = addSteps(kind, v1, xs, ys, w1, z1);
          x += 8;
          w += 2 * step;
          if ((part -= inputsInPair) == 0) break;
        }
        if (long) {
          a0 = i32x4.add(a0, widen(kind, s0));
          a1 = i32x4.add(a1, widen(kind, s1));
          b0 = i32x4.add(b0, widen(kind, t0));
          b1 = i32x4.add(b1, widen(kind, t1));
          c0 = i32x4.add(c0, widen(kind, u0));
          c1 = i32x4.add(c1, widen(kind, u1));
          d0 = i32x4.add(d0, widen(kind, v0));
          d1 = i32x4.add(d1, widen(kind, v1));
          s0 = i32x4.splat(0);
          s1 = s0;
          t0 = s0;
          t1 = s0;
          u0 = s0;
          u1 = s0;
          v0 = s0;
          v1 = s0;
        }
      } while (long && n > 0);
      if (!long) {
        a0 = widen(kind, s0);
        a1 = widen(kind, s1);
        b0 = widen(kind, t0);
        b1 = widen(kind, t1);
        c0 = widen(kind, u0);
        c1 = widen(kind, u1);
        d0 = widen(kind, v0);
        d1 = widen(kind, v1);
      }
      left -= run;
      if (ends == CONSTANT_ZERO) {
        finish(kind, CONSTANT_ZERO, p, target, a0, a1, zero, sums + sumAt, row0 + scaleAt);
        finish(kind, CONSTANT_ZERO, p, target + 64, b0, b1, zero, sums + sumStride + sumAt, row1 + scaleAt);
        finish(kind, CONSTANT_ZERO, p, target + 128, c0, c1, zero, sums + 2 * sumStride + sumAt, row2 + scaleAt);
        finish(kind, CONSTANT_ZERO, p, target + 192, d0, d1, zero, sums + 3 * sumStride + sumAt, row3 + scaleAt);
      } else if (ends == ONLY_OFFSETS) {
        finish(kind, ONLY_OFFSETS, p, target, a0, a1, zero, sums + sumAt, row0 + scaleAt);
        finish(kind, ONLY_OFFSETS, p, target + 64, b0, b1, zero, sums + sumStride + sumAt, row1 + scaleAt);
        finish(kind, ONLY_OFFSETS, p, target + 128, c0, c1, zero, sums + 2 * sumStride + sumAt, row2 + scaleAt);
        finish(kind, ONLY_OFFSETS, p, target + 192, d0, d1, zero, sums + 3 * sumStride + sumAt, row3 + scaleAt);
      } else if (ends == ONLY_ZEROS) {
        finish(kind, ONLY_ZEROS, p, target, a0, a1, zero, sums + sumAt, row0 + scaleAt);
        finish(kind, ONLY_ZEROS, p, target + 64, b0, b1, zero, sums + sumStride + sumAt, row1 + scaleAt);
        finish(kind, ONLY_ZEROS, p, target + 128, c0, c1, zero, sums + 2 * sumStride + sumAt, row2 + scaleAt);
        finish(kind, ONLY_ZEROS, p, target + 192, d0, d1, zero, sums + 3 * sumStride + sumAt, row3 + scaleAt);
      } else {
        finish(kind, ZEROS_AND_OFFSETS, p, target, a0, a1, zero, sums + sumAt, row0 + scaleAt);
        finish(kind, ZEROS_AND_OFFSETS, p, target + 64, b0, b1, zero, sums + sumStride + sumAt, row1 + scaleAt);
        finish(kind, ZEROS_AND_OFFSETS, p, target + 128, c0, c1, zero, sums + 2 * sumStride + sumAt, row2 + scaleAt);
        finish(kind, ZEROS_AND_OFFSETS, p, target + 192, d0, d1, zero, sums + 3 * sumStride + sumAt, row3 + scaleAt);
      }
      p += 64;
      sumAt += 4;
      scaleLeft -= run;
      if (scaleLeft <= 0) {
        scaleLeft += task.inputGroup;
        scaleAt += 4;
      }
    }
  }
}

/** A run of one row by two vectors, or by both planes of one: arithmetic rule 4 from t = I − zero · S on. */
// @ts-ignore: decorator
@inline
function finish(
  kind: i32,
  ends: i32,
  p: usize,
  target: usize,
  a: v128,
  b: v128,
  zero: v128,
  sumAt: usize,
  scaleAt: usize,
): void {
  const sum = v128.load32_splat(sumAt);
  const scale = v128.load32_splat(scaleAt);
  const zeros = i32x4.mul(sum, zero);
  const floatSum = f32x4.convert_i32x4_s(sum);
  if (kind == PLANES) finishVector(ends, p, target, i32x4.add(a, i32x4.shl(b, 4)), zeros, sum, floatSum, scale);
  else {
    finishVector(ends, p, target, a, zeros, sum, floatSum, scale);
    finishVector(ends, p + 16, target + 16, b, zeros, sum, floatSum, scale);
  }
}

// @ts-ignore: decorator
@inline
function finishVector(
  ends: i32,
  p: usize,
  target: usize,
  t: v128,
  zeros: v128,
  sum: v128,
  floatSum: v128,
  scale: v128,
): void {
  if (ends == CONSTANT_ZERO) t = i32x4.sub(t, zeros);
  else if (ends != ONLY_OFFSETS) t = i32x4.sub(t, i32x4.mul(sum, v128.load(p, ZEROS)));
  let u = f32x4.mul(v128.load(p, SCALES), f32x4.convert_i32x4_s(t));
  if (ends == ONLY_OFFSETS || ends == ZEROS_AND_OFFSETS)
    u = f32x4.add(u, f32x4.mul(v128.load(p, OFFSETS), floatSum));
  v128.store(target, f32x4.add(v128.load(target), f32x4.mul(u, scale)));
}

/** Sums of the chunk's runs of four rows to scratch. */
function addRunSums(task: Task, row: usize): usize {
  const sums = changetype<usize>(task) + TILE_SUMS;
  for (let r: usize = 0; r < 4; r++, row += task.xStride) {
    let at = task.sumAt + <usize>(task.first / task.run) * task.sumStep;
    for (let i: usize = 0; i < <usize>task.runs; i++, at += task.sumStep)
      store<i32>(sums + r * TILE_SUMS_STRIDE + (i << 2), runSum(row, at, task.sumStep, task.sumEnd));
  }
  return sums;
}
