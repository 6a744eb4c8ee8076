import { Bytes4, Bytes5, Bytes6, Bytes8, BytesBook } from "./linear-bytes";
import { INTEGERS, OFFSETS, runSum, SCALES, SUMS, Task, ZEROS } from "./linear-task";
import { Words4, Words5, Words6, Words8, WordsBook } from "./linear-words";

// One row against a chunk of a block, straight from the packed planes. Memory is to be read in order, codes and then
// parameters, or the processor's prefetching stops twice a block: so first all integer sums, then their scaling.

/** Row m: i32 sums [runs][16] to scratch. `bytes`: 8-bit activations, else 16-bit. */
export function integerSums(task: Task, m: i32, form: i32, bytes: bool): void {
  if (ASC_FEATURE_RELAXED_SIMD && bytes) {
    if (form == 4) sumRuns<Bytes4>(task, m);
    else if (form == 5) sumRuns<Bytes5>(task, m);
    else if (form == 6) sumRuns<Bytes6>(task, m);
    else if (form == 8) sumRuns<Bytes8>(task, m);
    else sumRuns<BytesBook>(task, m);
    return;
  }
  if (form == 4) sumRuns<Words4>(task, m);
  else if (form == 5) sumRuns<Words5>(task, m);
  else if (form == 6) sumRuns<Words6>(task, m);
  else if (form == 8) sumRuns<Words8>(task, m);
  else sumRuns<WordsBook>(task, m);
}

/** Form: a class of linear-bytes.ts or linear-words.ts. */
function sumRuns<Form>(task: Task, m: i32): void {
  const form = changetype<Form>(0);
  const matrix = task.matrix;
  const first = task.first;
  const run = task.run;
  let q = task.block + (<usize>first << 3);
  let h = task.block + matrix.highAt + (<usize>first << form.highShift());
  let x = task.x + <usize>m * task.xStride + (<usize>first << (form.words() ? 1 : 0));
  let left = task.count;
  let to = changetype<usize>(task) + INTEGERS;
  const mask = form.mask(task);
  const a = form.first(task);
  const b = form.second(task);
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
      if (form.words()) {
        x0 = v128.load32_splat(x);
        x1 = v128.load32_splat(x, 4);
        x2 = v128.load32_splat(x, 8);
        x3 = v128.load32_splat(x, 12);
        s0 = form.dot(0, q, h, mask, a, b, x0, x1, x2, x3);
        s1 = form.dot(0, q + 16, h + 16, mask, a, b, x0, x1, x2, x3);
        s2 = form.dot(0, q + 32, h + 32, mask, a, b, x0, x1, x2, x3);
        s3 = form.dot(0, q + 48, h + 48, mask, a, b, x0, x1, x2, x3);
        x0 = v128.load32_splat(x, 16);
        x1 = v128.load32_splat(x, 20);
        x2 = v128.load32_splat(x, 24);
        x3 = v128.load32_splat(x, 28);
        s0 = form.add(s0, form.dot(1, q + 64, h, mask, a, b, x0, x1, x2, x3));
        s1 = form.add(s1, form.dot(1, q + 80, h + 16, mask, a, b, x0, x1, x2, x3));
        s2 = form.add(s2, form.dot(1, q + 96, h + 32, mask, a, b, x0, x1, x2, x3));
        s3 = form.add(s3, form.dot(1, q + 112, h + 48, mask, a, b, x0, x1, x2, x3));
        if (n > 16) {
          x0 = v128.load32_splat(x, 32);
          x1 = v128.load32_splat(x, 36);
          x2 = v128.load32_splat(x, 40);
          x3 = v128.load32_splat(x, 44);
          s0 = form.add(s0, form.dot(2, q + 128, h, mask, a, b, x0, x1, x2, x3));
          s1 = form.add(s1, form.dot(2, q + 144, h + 16, mask, a, b, x0, x1, x2, x3));
          s2 = form.add(s2, form.dot(2, q + 160, h + 32, mask, a, b, x0, x1, x2, x3));
          s3 = form.add(s3, form.dot(2, q + 176, h + 48, mask, a, b, x0, x1, x2, x3));
          x0 = v128.load32_splat(x, 48);
          x1 = v128.load32_splat(x, 52);
          x2 = v128.load32_splat(x, 56);
          x3 = v128.load32_splat(x, 60);
          s0 = form.add(s0, form.dot(3, q + 192, h, mask, a, b, x0, x1, x2, x3));
          s1 = form.add(s1, form.dot(3, q + 208, h + 16, mask, a, b, x0, x1, x2, x3));
          s2 = form.add(s2, form.dot(3, q + 224, h + 32, mask, a, b, x0, x1, x2, x3));
          s3 = form.add(s3, form.dot(3, q + 240, h + 48, mask, a, b, x0, x1, x2, x3));
          q += 256;
          x += 64;
          h += <usize>32 << form.highShift();
        } else {
          q += 128;
          x += 32;
          h += <usize>16 << form.highShift();
        }
      } else {
        x0 = v128.load32_splat(x);
        x1 = v128.load32_splat(x, 4);
        x2 = v128.load32_splat(x, 8);
        x3 = v128.load32_splat(x, 12);
        s0 = form.dot(0, q, h, mask, a, b, x0, x1, x2, x3);
        s1 = form.dot(0, q + 16, h + 16, mask, a, b, x0, x1, x2, x3);
        s2 = form.dot(0, q + 32, h + 32, mask, a, b, x0, x1, x2, x3);
        s3 = form.dot(0, q + 48, h + 48, mask, a, b, x0, x1, x2, x3);
        if (n > 16) {
          x0 = v128.load32_splat(x, 16);
          x1 = v128.load32_splat(x, 20);
          x2 = v128.load32_splat(x, 24);
          x3 = v128.load32_splat(x, 28);
          s0 = form.add(s0, form.dot(1, q + 128, h, mask, a, b, x0, x1, x2, x3));
          s1 = form.add(s1, form.dot(1, q + 144, h + 16, mask, a, b, x0, x1, x2, x3));
          s2 = form.add(s2, form.dot(1, q + 160, h + 32, mask, a, b, x0, x1, x2, x3));
          s3 = form.add(s3, form.dot(1, q + 176, h + 48, mask, a, b, x0, x1, x2, x3));
          q += 256;
          x += 32;
          h += <usize>32 << form.highShift();
        } else {
          q += 128;
          x += 16;
          h += <usize>16 << form.highShift();
        }
      }
      i0 = i32x4.add(i0, form.widen(s0));
      i1 = i32x4.add(i1, form.widen(s1));
      i2 = i32x4.add(i2, form.widen(s2));
      i3 = i32x4.add(i3, form.widen(s3));
    }
    left -= run;
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
