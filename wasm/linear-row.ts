import { Bytes4, Bytes5, Bytes6, Bytes8, BytesBook, ShortBytes4, ShortBytes8, ShortBytesBook } from "./linear-bytes";
import { codeBook } from "./linear-matrix";
import { OFFSETS, runSum, SCALES, SUMS, Task, ZEROS } from "./linear-task";
import { Words4, Words5, Words6, Words8, WordsBook } from "./linear-words";

// One row against a chunk of a block, straight from the packed planes: the rate is that of reading them.

/** Adds the chunk's runs to the 16 sums in scratch, for row m. `bytes`: 8-bit activations, else 16-bit. */
export function rowChunk(task: Task, m: i32, form: i32, bytes: bool): void {
  if (ASC_FEATURE_RELAXED_SIMD && bytes) {
    const whole = task.run % 32 == 0 || task.runs == 1;
    if (form == 4) {
      if (whole) rowRuns<Bytes4>(task, m);
      else rowRuns<ShortBytes4>(task, m);
    } else if (form == 5) rowRuns<Bytes5>(task, m);
    else if (form == 6) rowRuns<Bytes6>(task, m);
    else if (form == 8) {
      if (whole) rowRuns<Bytes8>(task, m);
      else rowRuns<ShortBytes8>(task, m);
    } else {
      if (whole) rowRuns<BytesBook>(task, m);
      else rowRuns<ShortBytesBook>(task, m);
    }
    return;
  }
  if (form == 4) rowRuns<Words4>(task, m);
  else if (form == 5) rowRuns<Words5>(task, m);
  else if (form == 6) rowRuns<Words6>(task, m);
  else if (form == 8) rowRuns<Words8>(task, m);
  else rowRuns<WordsBook>(task, m);
}

/** Form: a class of linear-bytes.ts or linear-words.ts. Its step takes 4, 8 or 16 splats of 4 bytes of activations. */
function rowRuns<Form>(task: Task, m: i32): void {
  const form = changetype<Form>(0);
  const matrix = task.matrix;
  const sums = changetype<usize>(task) + SUMS + (<usize>m << 6);
  const first = task.first;
  const run = task.run;
  const row = task.x + <usize>m * task.xStride;
  let q = task.block + (<usize>first << 3);
  let h = task.block + matrix.highAt + (<usize>first << form.highShift());
  let x = row + (<usize>first << form.codeShift());
  let scaleAt = task.scaleAt + (<usize>(first / task.inputGroup) << 2);
  let scaleLeft = task.inputGroup - (first % task.inputGroup);
  let sumAt = task.sumAt + <usize>(first / run) * task.sumStep;
  let left = task.count;
  let p = changetype<usize>(task);
  const zero = task.zero;
  const book = codeBook(matrix);
  // With bytes, nibbles of the book's values + 128.
  const split = v128.xor(book, i8x16.splat(-128));
  const lower = form.codeShift() ? book : v128.and(split, i8x16.splat(15));
  const upper = i8x16.shr_u(split, 4);
  let f0 = v128.load(sums);
  let f1 = v128.load(sums, 16);
  let f2 = v128.load(sums, 32);
  let f3 = v128.load(sums, 48);
  for (let runs = task.runs; runs > 0; runs--) {
    let i0 = i32x4.splat(0);
    let i1 = i0;
    let i2 = i0;
    let i3 = i0;
    for (let n = min(run, left); n > 0; n -= form.inputs()) {
      let x0 = v128.load32_splat(x);
      let x1 = v128.load32_splat(x, 4);
      let x2 = v128.load32_splat(x, 8);
      let x3 = v128.load32_splat(x, 12);
      if (form.splats() == 4) {
        i0 = i32x4.add(i0, form.dot(0, q, h, lower, upper, x0, x1, x2, x3, x0, x1, x2, x3));
        i1 = i32x4.add(i1, form.dot(0, q + 16, h + 16, lower, upper, x0, x1, x2, x3, x0, x1, x2, x3));
        i2 = i32x4.add(i2, form.dot(0, q + 32, h + 32, lower, upper, x0, x1, x2, x3, x0, x1, x2, x3));
        i3 = i32x4.add(i3, form.dot(0, q + 48, h + 48, lower, upper, x0, x1, x2, x3, x0, x1, x2, x3));
      } else {
        let x4 = v128.load32_splat(x, 16);
        let x5 = v128.load32_splat(x, 20);
        let x6 = v128.load32_splat(x, 24);
        let x7 = v128.load32_splat(x, 28);
        i0 = i32x4.add(i0, form.dot(0, q, h, lower, upper, x0, x1, x2, x3, x4, x5, x6, x7));
        i1 = i32x4.add(i1, form.dot(0, q + 16, h + 16, lower, upper, x0, x1, x2, x3, x4, x5, x6, x7));
        i2 = i32x4.add(i2, form.dot(0, q + 32, h + 32, lower, upper, x0, x1, x2, x3, x4, x5, x6, x7));
        i3 = i32x4.add(i3, form.dot(0, q + 48, h + 48, lower, upper, x0, x1, x2, x3, x4, x5, x6, x7));
        if (form.splats() == 16) {
          x0 = v128.load32_splat(x, 32);
          x1 = v128.load32_splat(x, 36);
          x2 = v128.load32_splat(x, 40);
          x3 = v128.load32_splat(x, 44);
          x4 = v128.load32_splat(x, 48);
          x5 = v128.load32_splat(x, 52);
          x6 = v128.load32_splat(x, 56);
          x7 = v128.load32_splat(x, 60);
          i0 = i32x4.add(i0, form.dot(1, q + 128, h, lower, upper, x0, x1, x2, x3, x4, x5, x6, x7));
          i1 = i32x4.add(i1, form.dot(1, q + 144, h + 16, lower, upper, x0, x1, x2, x3, x4, x5, x6, x7));
          i2 = i32x4.add(i2, form.dot(1, q + 160, h + 32, lower, upper, x0, x1, x2, x3, x4, x5, x6, x7));
          i3 = i32x4.add(i3, form.dot(1, q + 176, h + 48, lower, upper, x0, x1, x2, x3, x4, x5, x6, x7));
        }
      }
      x += <usize>form.splats() << 2;
      q += <usize>form.inputs() << 3;
      h += <usize>form.inputs() << form.highShift();
    }
    left -= run;
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
