import { ByteBook, ByteFifthBits, ByteNibbles, ByteSixthBits } from "./linear-bytes";
import { INTEGERS, OFFSETS, runSum, SCALES, SUMS, Task, ZEROS } from "./linear-task";
import { WordBook, WordFifthBits, WordNibbles, WordSixthBits } from "./linear-words";

// One row against a chunk of a block, straight from the packed planes. Memory is to be read in order, one plane and then the
// other and then parameters, or the processor's prefetching stops at each step back: so first all integer sums, plane by
// plane, then their scaling.

/** Row m: i32 sums [runs][16] to scratch. `form`: codeForm of the matrix. `bytes`: 8-bit activations, else 16-bit. */
export function integerSums(task: Task, m: i32, form: i32, bytes: bool): void {
  const highAt = task.matrix.highAt;
  if (ASC_FEATURE_RELAXED_SIMD && bytes) {
    if (form == 0) sumRuns<ByteBook>(task, m, 0);
    else sumRuns<ByteNibbles>(task, m, 0);
    if (form == 5) sumRuns<ByteFifthBits>(task, m, highAt);
    else if (form == 6) sumRuns<ByteSixthBits>(task, m, highAt);
    else if (form == 8) sumRuns<ByteNibbles>(task, m, highAt);
    return;
  }
  if (form == 0) sumRuns<WordBook>(task, m, 0);
  else sumRuns<WordNibbles>(task, m, 0);
  if (form == 5) sumRuns<WordFifthBits>(task, m, highAt);
  else if (form == 6) sumRuns<WordSixthBits>(task, m, highAt);
  else if (form == 8) sumRuns<WordNibbles>(task, m, highAt);
}

/** Plane: a class of linear-bytes.ts or linear-words.ts. At 0 stands the lower plane; another adds 16 times its sums. */
function sumRuns<Plane>(task: Task, m: i32, planeAt: usize): void {
  const plane = changetype<Plane>(0);
  const first = task.first;
  const run = task.run;
  let q = task.block + planeAt + (<usize>first << plane.planeShift());
  let x = task.x + <usize>m * task.xStride + (<usize>first << (plane.words() ? 1 : 0));
  let left = task.count;
  let to = changetype<usize>(task) + INTEGERS;
  const mask = plane.mask(task);
  const lower = plane.lower(task);
  const upper = plane.upper(task);
  for (let runs = task.runs; runs > 0; runs--) {
    let i0 = i32x4.splat(0);
    let i1 = i0;
    let i2 = i0;
    let i3 = i0;
    for (let n = (min(run, left) + 15) & ~15; n > 0; n -= 32) {
      let x0: v128;
      let x1: v128;
      let x2: v128;
      let x3: v128;
      let s0: v128;
      let s1: v128;
      let s2: v128;
      let s3: v128;
      if (plane.words()) {
        x0 = v128.load32_splat(x);
        x1 = v128.load32_splat(x, 4);
        x2 = v128.load32_splat(x, 8);
        x3 = v128.load32_splat(x, 12);
        s0 = plane.dot(0, q, mask, lower, upper, x0, x1, x2, x3);
        s1 = plane.dot(0, q + 16, mask, lower, upper, x0, x1, x2, x3);
        s2 = plane.dot(0, q + 32, mask, lower, upper, x0, x1, x2, x3);
        s3 = plane.dot(0, q + 48, mask, lower, upper, x0, x1, x2, x3);
        x0 = v128.load32_splat(x, 16);
        x1 = v128.load32_splat(x, 20);
        x2 = v128.load32_splat(x, 24);
        x3 = v128.load32_splat(x, 28);
        s0 = plane.add(s0, plane.dot(1, q, mask, lower, upper, x0, x1, x2, x3));
        s1 = plane.add(s1, plane.dot(1, q + 16, mask, lower, upper, x0, x1, x2, x3));
        s2 = plane.add(s2, plane.dot(1, q + 32, mask, lower, upper, x0, x1, x2, x3));
        s3 = plane.add(s3, plane.dot(1, q + 48, mask, lower, upper, x0, x1, x2, x3));
        if (n > 16) {
          x0 = v128.load32_splat(x, 32);
          x1 = v128.load32_splat(x, 36);
          x2 = v128.load32_splat(x, 40);
          x3 = v128.load32_splat(x, 44);
          s0 = plane.add(s0, plane.dot(2, q, mask, lower, upper, x0, x1, x2, x3));
          s1 = plane.add(s1, plane.dot(2, q + 16, mask, lower, upper, x0, x1, x2, x3));
          s2 = plane.add(s2, plane.dot(2, q + 32, mask, lower, upper, x0, x1, x2, x3));
          s3 = plane.add(s3, plane.dot(2, q + 48, mask, lower, upper, x0, x1, x2, x3));
          x0 = v128.load32_splat(x, 48);
          x1 = v128.load32_splat(x, 52);
          x2 = v128.load32_splat(x, 56);
          x3 = v128.load32_splat(x, 60);
          s0 = plane.add(s0, plane.dot(3, q, mask, lower, upper, x0, x1, x2, x3));
          s1 = plane.add(s1, plane.dot(3, q + 16, mask, lower, upper, x0, x1, x2, x3));
          s2 = plane.add(s2, plane.dot(3, q + 32, mask, lower, upper, x0, x1, x2, x3));
          s3 = plane.add(s3, plane.dot(3, q + 48, mask, lower, upper, x0, x1, x2, x3));
          q += <usize>32 << plane.planeShift();
          x += 64;
        } else {
          q += <usize>16 << plane.planeShift();
          x += 32;
        }
      } else {
        x0 = v128.load32_splat(x);
        x1 = v128.load32_splat(x, 4);
        x2 = v128.load32_splat(x, 8);
        x3 = v128.load32_splat(x, 12);
        s0 = plane.dot(0, q, mask, lower, upper, x0, x1, x2, x3);
        s1 = plane.dot(0, q + 16, mask, lower, upper, x0, x1, x2, x3);
        s2 = plane.dot(0, q + 32, mask, lower, upper, x0, x1, x2, x3);
        s3 = plane.dot(0, q + 48, mask, lower, upper, x0, x1, x2, x3);
        if (n > 16) {
          x0 = v128.load32_splat(x, 16);
          x1 = v128.load32_splat(x, 20);
          x2 = v128.load32_splat(x, 24);
          x3 = v128.load32_splat(x, 28);
          s0 = plane.add(s0, plane.dot(1, q, mask, lower, upper, x0, x1, x2, x3));
          s1 = plane.add(s1, plane.dot(1, q + 16, mask, lower, upper, x0, x1, x2, x3));
          s2 = plane.add(s2, plane.dot(1, q + 32, mask, lower, upper, x0, x1, x2, x3));
          s3 = plane.add(s3, plane.dot(1, q + 48, mask, lower, upper, x0, x1, x2, x3));
          q += <usize>32 << plane.planeShift();
          x += 32;
        } else {
          q += <usize>16 << plane.planeShift();
          x += 16;
        }
      }
      i0 = i32x4.add(i0, plane.widen(s0));
      i1 = i32x4.add(i1, plane.widen(s1));
      i2 = i32x4.add(i2, plane.widen(s2));
      i3 = i32x4.add(i3, plane.widen(s3));
    }
    left -= run;
    if (planeAt) {
      i0 = i32x4.add(v128.load(to), i32x4.shl(i0, 4));
      i1 = i32x4.add(v128.load(to, 16), i32x4.shl(i1, 4));
      i2 = i32x4.add(v128.load(to, 32), i32x4.shl(i2, 4));
      i3 = i32x4.add(v128.load(to, 48), i32x4.shl(i3, 4));
    }
    v128.store(to, i0);
    v128.store(to, i1, 16);
    v128.store(to, i2, 32);
    v128.store(to, i3, 48);
    to += 64;
  }
}

/** Row m: arithmetic rule 4 from t = I − zero · S on, added to the 16 sums so far. */
export function scaleSums(task: Task, m: i32): void {
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
