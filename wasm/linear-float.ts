import { bfloatsToFloats4, halvesToFloats4 } from "./linear-half";
import { KIND_BF16, KIND_F16, KIND_F32 } from "./linear-matrix";
import { CODES, FLOAT_CHUNK_INPUTS, SUMS, Task } from "./linear-task";

// Float weights: arithmetic rule 1, so each product and each addition rounds by itself, inputs ascending.

/** Adds all inputs of a block to the sums in scratch, for all the task's rows of f32. */
export function floatBlock(task: Task): void {
  const kind = task.matrix.valueKind;
  if (task.rows == 1) {
    if (kind == KIND_F32) floatRow(KIND_F32, task);
    else if (kind == KIND_F16) floatRow(KIND_F16, task);
    else floatRow(KIND_BF16, task);
    return;
  }
  const K = task.matrix.inputs;
  for (task.first = 0; task.first < K; task.first += FLOAT_CHUNK_INPUTS) {
    task.count = min(K - task.first, FLOAT_CHUNK_INPUTS);
    if (kind == KIND_F32) unpackFloats(KIND_F32, task);
    else if (kind == KIND_F16) unpackFloats(KIND_F16, task);
    else unpackFloats(KIND_BF16, task);
    let m = 0;
    for (; m + 4 <= task.rows; m += 4) floatTile(4, task, m);
    for (; m < task.rows; m++) floatTile(1, task, m);
  }
}

/** Four numbers of a float kind at p to f32. */
// @ts-ignore: decorator
@inline
function floats4(kind: i32, p: usize): v128 {
  return kind == KIND_F32
    ? v128.load(p)
    : kind == KIND_F16
      ? halvesToFloats4(v128.load_ext<i16>(p))
      : bfloatsToFloats4(p);
}

// @ts-ignore: decorator
@inline
function floatRow(kind: i32, task: Task): void {
  const quarter: usize = kind == KIND_F32 ? 16 : 8;
  const sums = changetype<usize>(task) + SUMS;
  let f0 = v128.load(sums);
  let f1 = v128.load(sums, 16);
  let f2 = v128.load(sums, 32);
  let f3 = v128.load(sums, 48);
  let w = task.block;
  let x = task.x;
  const end = x + (<usize>task.matrix.inputs << 2);
  for (; x < end; x += 4) {
    const splat = v128.load32_splat(x);
    f0 = f32x4.add(f0, f32x4.mul(splat, floats4(kind, w)));
    f1 = f32x4.add(f1, f32x4.mul(splat, floats4(kind, w + quarter)));
    f2 = f32x4.add(f2, f32x4.mul(splat, floats4(kind, w + 2 * quarter)));
    f3 = f32x4.add(f3, f32x4.mul(splat, floats4(kind, w + 3 * quarter)));
    w += 4 * quarter;
  }
  v128.store(sums, f0);
  v128.store(sums, f1, 16);
  v128.store(sums, f2, 32);
  v128.store(sums, f3, 48);
}

// @ts-ignore: decorator
@inline
function unpackFloats(kind: i32, task: Task): void {
  const bytes: usize = kind == KIND_F32 ? 16 : 8;
  let w = task.block + <usize>task.first * (4 * bytes);
  let target = changetype<usize>(task) + CODES;
  const end = target + (<usize>task.count << 6);
  for (; target < end; target += 16, w += bytes) v128.store(target, floats4(kind, w));
}

/** Rows m … m + R − 1, two vectors of outputs at a time. */
// @ts-ignore: decorator
@inline
function floatTile(R: i32, task: Task, m: i32): void {
  const stride = task.xStride;
  const scratch = changetype<usize>(task);
  for (let v: usize = 0; v < 64; v += 32) {
    const sums = scratch + SUMS + (<usize>m << 6) + v;
    let x0 = task.x + <usize>m * stride + (<usize>task.first << 2);
    let x1 = x0 + stride;
    let x2 = x1 + stride;
    let x3 = x2 + stride;
    let a0 = v128.load(sums);
    let a1 = v128.load(sums, 16);
    let b0 = a0;
    let b1 = a0;
    let c0 = a0;
    let c1 = a0;
    let d0 = a0;
    let d1 = a0;
    if (R > 1) {
      b0 = v128.load(sums, 64);
      b1 = v128.load(sums, 80);
      c0 = v128.load(sums, 128);
      c1 = v128.load(sums, 144);
      d0 = v128.load(sums, 192);
      d1 = v128.load(sums, 208);
    }
    let w = scratch + CODES + v;
    for (let n = task.count; n > 0; n--) {
      const w0 = v128.load(w);
      const w1 = v128.load(w, 16);
      let splat = v128.load32_splat(x0);
      a0 = f32x4.add(a0, f32x4.mul(splat, w0));
      a1 = f32x4.add(a1, f32x4.mul(splat, w1));
      if (R > 1) {
        splat = v128.load32_splat(x1);
        b0 = f32x4.add(b0, f32x4.mul(splat, w0));
        b1 = f32x4.add(b1, f32x4.mul(splat, w1));
        splat = v128.load32_splat(x2);
        c0 = f32x4.add(c0, f32x4.mul(splat, w0));
        c1 = f32x4.add(c1, f32x4.mul(splat, w1));
        splat = v128.load32_splat(x3);
        d0 = f32x4.add(d0, f32x4.mul(splat, w0));
        d1 = f32x4.add(d1, f32x4.mul(splat, w1));
      }
      w += 64;
      x0 += 4;
      x1 += 4;
      x2 += 4;
      x3 += 4;
    }
    v128.store(sums, a0);
    v128.store(sums, a1, 16);
    if (R > 1) {
      v128.store(sums, b0, 64);
      v128.store(sums, b1, 80);
      v128.store(sums, c0, 128);
      v128.store(sums, c1, 144);
      v128.store(sums, d0, 192);
      v128.store(sums, d1, 208);
    }
  }
}
