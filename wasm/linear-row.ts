import { ByteBook, ByteFifthBits, ByteNibbles, ByteSixthBits } from "./linear-bytes";
import { INTEGERS, Task } from "./linear-task";
import { WordBook, WordFifthBits, WordNibbles, WordSixthBits } from "./linear-words";

// One row against a chunk of a block, straight from the packed planes. Memory is to be read in order, one plane and
// then the other and then parameters, or the processor's prefetching stops at each step back: so first all integer
// sums, plane by plane, then their scaling.

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

/**
 * Plane: a class of linear-bytes.ts or linear-words.ts. At 0 stands the lower plane; another adds 16 times its sums.
 */
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
