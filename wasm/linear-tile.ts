import { dotBytes } from "./linear-bytes";
import { CODES, OFFSETS, runSum, SCALES, SUMS, Task, ZEROS } from "./linear-task";

// Many rows against an unpacked chunk: 4 rows by 2 vectors of 4 outputs at a time, as 8 sums, a splat, two vectors of
// weights and room for a product fill the 16 registers of x86.

/** 16-bit activations: 32-bit sums throughout. */
const WORDS: i32 = 0;
/** 8-bit activations and codes up to 15: sums of 8 quads fit 16 bits. */
const NIBBLES: i32 = 1;
/** Codes up to 63: sums of 2 quads fit. */
const WIDE_CODES: i32 = 2;
/** Two planes of nibbles, the second worth 16: the two vectors are planes, not outputs. */
const PLANES: i32 = 3;

/** Adds the unpacked chunk's runs to the sums in scratch, for rows 0 … rows − 1, a multiple of 4. Forms: linear-row.ts. */
export function tileChunk(task: Task, rows: i32, form: i32, bytes: bool): void {
  if (ASC_FEATURE_RELAXED_SIMD && bytes) {
    if (form == 4) for (let m = 0; m < rows; m += 4) tile(NIBBLES, task, m);
    else if (form == 5 || form == 6) for (let m = 0; m < rows; m += 4) tile(WIDE_CODES, task, m);
    else for (let m = 0; m < rows; m += 4) tile(PLANES, task, m);
  } else for (let m = 0; m < rows; m += 4) tile(WORDS, task, m);
}

// @ts-ignore: decorator
@inline
function dot(kind: i32, x: v128, weights: v128): v128 {
  return ASC_FEATURE_RELAXED_SIMD && kind != WORDS ? dotBytes(x, weights) : i32x4.dot_i16x8_s(x, weights);
}

// @ts-ignore: decorator
@inline
function add(kind: i32, a: v128, b: v128): v128 {
  return kind == WORDS ? i32x4.add(a, b) : i16x8.add(a, b);
}

// @ts-ignore: decorator
@inline
function widen(kind: i32, sums: v128): v128 {
  return kind == WORDS ? sums : i32x4.extadd_pairwise_i16x8_s(sums);
}

/** One row and vector of outputs at the end of a run: scaled sums, added up in memory. */
// @ts-ignore: decorator
@inline
function finish(task: Task, p: usize, target: usize, t: v128, sum: i32, row: usize, scaleAt: usize): void {
  t = i32x4.sub(
    t,
    task.hasZeros ? i32x4.mul(i32x4.splat(sum), v128.load(p, ZEROS)) : i32x4.splat(task.zero * sum),
  );
  let u = f32x4.mul(v128.load(p, SCALES), f32x4.convert_i32x4_s(t));
  if (task.hasOffsets) u = f32x4.add(u, f32x4.mul(v128.load(p, OFFSETS), f32x4.splat(<f32>sum)));
  v128.store(target, f32x4.add(v128.load(target), f32x4.mul(u, v128.load32_splat(row + scaleAt))));
}

/** Rows m … m + 3. */
// @ts-ignore: decorator
@inline
function tile(kind: i32, task: Task, m: i32): void {
  const first = task.first;
  const run = task.run;
  const stride = task.xStride;
  const row0 = task.x + <usize>m * stride;
  const row1 = row0 + stride;
  const row2 = row1 + stride;
  const row3 = row2 + stride;
  const scratch = changetype<usize>(task);
  /** Bytes of activations and of weights in a pair of steps. */
  const xPair: usize = 8;
  const wPair: usize = kind == PLANES ? 256 : 128;
  const second: usize = kind == PLANES ? 64 : 16;
  const inputsInPair = kind == WORDS ? 4 : 8;
  const inputsInSum = kind == WORDS ? 0x40000000 : kind == WIDE_CODES ? 8 : 32;
  for (let v: usize = 0; v < 64; v += kind == PLANES ? 16 : 32) {
    let w = scratch + CODES + v;
    let x: usize = kind == WORDS ? <usize>first << 1 : <usize>first;
    let scaleAt = task.scaleAt + (<usize>(first / task.inputGroup) << 2);
    let scaleLeft = task.inputGroup - (first % task.inputGroup);
    let sumAt = task.sumAt + <usize>(first / run) * task.sumStep;
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
      let n = (min(run, left) + 15) & ~15;
      while (n > 0) {
        let s0 = i32x4.splat(0);
        let s1 = s0;
        let t0 = s0;
        let t1 = s0;
        let u0 = s0;
        let u1 = s0;
        let v0 = s0;
        let v1 = s0;
        let part = min(n, inputsInSum);
        n -= part;
        for (; part > 0; part -= inputsInPair) {
          const w0 = v128.load(w);
          const w1 = v128.load(w + second);
          let splat = v128.load32_splat(row0 + x);
          s0 = add(kind, s0, dot(kind, splat, w0));
          s1 = add(kind, s1, dot(kind, splat, w1));
          splat = v128.load32_splat(row1 + x);
          t0 = add(kind, t0, dot(kind, splat, w0));
          t1 = add(kind, t1, dot(kind, splat, w1));
          splat = v128.load32_splat(row2 + x);
          u0 = add(kind, u0, dot(kind, splat, w0));
          u1 = add(kind, u1, dot(kind, splat, w1));
          splat = v128.load32_splat(row3 + x);
          v0 = add(kind, v0, dot(kind, splat, w0));
          v1 = add(kind, v1, dot(kind, splat, w1));
          const z0 = v128.load(w + (wPair >> 1));
          const z1 = v128.load(w + (wPair >> 1) + second);
          splat = v128.load32_splat(row0 + x, 4);
          s0 = add(kind, s0, dot(kind, splat, z0));
          s1 = add(kind, s1, dot(kind, splat, z1));
          splat = v128.load32_splat(row1 + x, 4);
          t0 = add(kind, t0, dot(kind, splat, z0));
          t1 = add(kind, t1, dot(kind, splat, z1));
          splat = v128.load32_splat(row2 + x, 4);
          u0 = add(kind, u0, dot(kind, splat, z0));
          u1 = add(kind, u1, dot(kind, splat, z1));
          splat = v128.load32_splat(row3 + x, 4);
          v0 = add(kind, v0, dot(kind, splat, z0));
          v1 = add(kind, v1, dot(kind, splat, z1));
          x += xPair;
          w += wPair;
        }
        a0 = i32x4.add(a0, widen(kind, s0));
        a1 = i32x4.add(a1, widen(kind, s1));
        b0 = i32x4.add(b0, widen(kind, t0));
        b1 = i32x4.add(b1, widen(kind, t1));
        c0 = i32x4.add(c0, widen(kind, u0));
        c1 = i32x4.add(c1, widen(kind, u1));
        d0 = i32x4.add(d0, widen(kind, v0));
        d1 = i32x4.add(d1, widen(kind, v1));
      }
      left -= run;
      let sum = runSum(row0, sumAt, task.sumStep, task.sumEnd);
      if (kind == PLANES) finish(task, p, target, i32x4.add(a0, i32x4.shl(a1, 4)), sum, row0, scaleAt);
      else {
        finish(task, p, target, a0, sum, row0, scaleAt);
        finish(task, p + 16, target + 16, a1, sum, row0, scaleAt);
      }
      sum = runSum(row1, sumAt, task.sumStep, task.sumEnd);
      if (kind == PLANES) finish(task, p, target + 64, i32x4.add(b0, i32x4.shl(b1, 4)), sum, row1, scaleAt);
      else {
        finish(task, p, target + 64, b0, sum, row1, scaleAt);
        finish(task, p + 16, target + 80, b1, sum, row1, scaleAt);
      }
      sum = runSum(row2, sumAt, task.sumStep, task.sumEnd);
      if (kind == PLANES) finish(task, p, target + 128, i32x4.add(c0, i32x4.shl(c1, 4)), sum, row2, scaleAt);
      else {
        finish(task, p, target + 128, c0, sum, row2, scaleAt);
        finish(task, p + 16, target + 144, c1, sum, row2, scaleAt);
      }
      sum = runSum(row3, sumAt, task.sumStep, task.sumEnd);
      if (kind == PLANES) finish(task, p, target + 192, i32x4.add(d0, i32x4.shl(d1, 4)), sum, row3, scaleAt);
      else {
        finish(task, p, target + 192, d0, sum, row3, scaleAt);
        finish(task, p + 16, target + 208, d1, sum, row3, scaleAt);
      }
      p += 64;
      sumAt += task.sumStep;
      scaleLeft -= run;
      if (scaleLeft <= 0) {
        scaleLeft += task.inputGroup;
        scaleAt += 4;
      }
    }
  }
}
