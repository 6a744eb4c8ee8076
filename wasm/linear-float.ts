import { bfloatsToFloats4, finiteHalves4, halvesToFloats4 } from "./linear-half";
import { KIND_BF16, KIND_F16, KIND_F32 } from "./linear-matrix";
import { CODES, FLOAT_CHUNK_INPUTS, HALF_FACTOR, HALF_MASK, SUMS, Task } from "./linear-task";

// Float weights: arithmetic rule 1, so each product and each addition rounds by itself, inputs ascending.

/** Adds all inputs of a block to the sums in scratch, for all the task's rows of f32. */
export function floatBlock(task: Task): void {
  const kind = task.matrix.valueKind;
  const K = task.matrix.inputs;
  for (task.first = 0; task.first < K; task.first += FLOAT_CHUNK_INPUTS) {
    task.count = min(K - task.first, FLOAT_CHUNK_INPUTS);
    const weights = kind == KIND_F32 ? task.block + (<usize>task.first << 6) : unpackedFloats(task, kind);
    let m = 0;
    for (; m + 4 <= task.rows; m += 4) floatTile(task, weights, m);
    for (; m < task.rows; m++) floatRow(task, weights, m);
  }
}

/** A chunk's weights to scratch as f32 [count][16]. */
function unpackedFloats(task: Task, kind: i32): usize {
  const source = task.block + (<usize>task.first << 5);
  const target = changetype<usize>(task) + CODES;
  const end = target + (<usize>task.count << 6);
  if (kind == KIND_BF16) unpackBfloats(source, target, end);
  else if (!unpackFiniteHalves(task, source, target, end)) unpackHalves(source, target, end);
  return target;
}

function unpackBfloats(source: usize, target: usize, end: usize): void {
  for (; target < end; target += 32, source += 16) {
    v128.store(target, bfloatsToFloats4(source));
    v128.store(target, bfloatsToFloats4(source + 8), 16);
  }
}

/** An f16 infinity without its sign, moved up by one. */
const INFINITE: i16 = <i16>0xf800;

/** False where there was an infinity or a NaN. */
function unpackFiniteHalves(task: Task, source: usize, target: usize, end: usize): bool {
  const mask = v128.load(changetype<usize>(task), HALF_MASK);
  const factor = v128.load(changetype<usize>(task), HALF_FACTOR);
  let largest = i16x8.splat(0);
  for (; target < end; target += 32, source += 16) {
    const halves = v128.load(source);
    largest = i16x8.max_u(largest, i16x8.shl(halves, 1));
    v128.store(target, finiteHalves4(i32x4.extend_low_i16x8_s(halves), mask, factor));
    v128.store(target, finiteHalves4(i32x4.extend_high_i16x8_s(halves), mask, factor), 16);
  }
  return !v128.any_true(i16x8.ge_u(largest, i16x8.splat(INFINITE)));
}

function unpackHalves(source: usize, target: usize, end: usize): void {
  for (; target < end; target += 16, source += 8) v128.store(target, halvesToFloats4(v128.load_ext<i16>(source)));
}

function floatRow(task: Task, w: usize, m: i32): void {
  const sums = changetype<usize>(task) + SUMS + (<usize>m << 6);
  let f0 = v128.load(sums);
  let f1 = v128.load(sums, 16);
  let f2 = v128.load(sums, 32);
  let f3 = v128.load(sums, 48);
  let x = task.x + <usize>m * task.xStride + (<usize>task.first << 2);
  const end = x + (<usize>task.count << 2);
  for (; x < end; x += 4, w += 64) {
    const splat = v128.load32_splat(x);
    f0 = f32x4.add(f0, f32x4.mul(splat, v128.load(w)));
    f1 = f32x4.add(f1, f32x4.mul(splat, v128.load(w, 16)));
    f2 = f32x4.add(f2, f32x4.mul(splat, v128.load(w, 32)));
    f3 = f32x4.add(f3, f32x4.mul(splat, v128.load(w, 48)));
  }
  v128.store(sums, f0);
  v128.store(sums, f1, 16);
  v128.store(sums, f2, 32);
  v128.store(sums, f3, 48);
}

/** Rows m … m + 3, two vectors of outputs at a time. */
function floatTile(task: Task, weights: usize, m: i32): void {
  const stride = task.xStride;
  for (let v: usize = 0; v < 64; v += 32) {
    const sums = changetype<usize>(task) + SUMS + (<usize>m << 6) + v;
    const row0 = task.x + <usize>m * stride;
    const row1 = row0 + stride;
    const row2 = row1 + stride;
    const row3 = row2 + stride;
    let a0 = v128.load(sums);
    let a1 = v128.load(sums, 16);
    let b0 = v128.load(sums, 64);
    let b1 = v128.load(sums, 80);
    let c0 = v128.load(sums, 128);
    let c1 = v128.load(sums, 144);
    let d0 = v128.load(sums, 192);
    let d1 = v128.load(sums, 208);
    let w = weights + v;
    let x = <usize>task.first << 2;
    const end = x + (<usize>task.count << 2);
    for (; x < end; x += 4, w += 64) {
      const w0 = v128.load(w);
      const w1 = v128.load(w, 16);
      let splat = v128.load32_splat(row0 + x);
      a0 = f32x4.add(a0, f32x4.mul(splat, w0));
      a1 = f32x4.add(a1, f32x4.mul(splat, w1));
      splat = v128.load32_splat(row1 + x);
      b0 = f32x4.add(b0, f32x4.mul(splat, w0));
      b1 = f32x4.add(b1, f32x4.mul(splat, w1));
      splat = v128.load32_splat(row2 + x);
      c0 = f32x4.add(c0, f32x4.mul(splat, w0));
      c1 = f32x4.add(c1, f32x4.mul(splat, w1));
      splat = v128.load32_splat(row3 + x);
      d0 = f32x4.add(d0, f32x4.mul(splat, w0));
      d1 = f32x4.add(d1, f32x4.mul(splat, w1));
    }
    v128.store(sums, a0);
    v128.store(sums, a1, 16);
    v128.store(sums, b0, 64);
    v128.store(sums, b1, 80);
    v128.store(sums, c0, 128);
    v128.store(sums, c1, 144);
    v128.store(sums, d0, 192);
    v128.store(sums, d1, 208);
  }
}
