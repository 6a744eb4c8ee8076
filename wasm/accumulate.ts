// y[0 … 15] += Σ x[i] · rows[i][0 … 15], ascending i, all f32; `fresh` starts at +0. Scores are such sums over the dims of a
// head, with 16 keys side by side; outputs are such sums over tokens, with 16 dims side by side.

/** Two sums over the same rows: each row is loaded once for both. */
export function accumulate16Pair(
  x0: usize,
  x1: usize,
  count: i32,
  rows: usize,
  stride: usize,
  y0: usize,
  y1: usize,
  fresh: bool,
): void {
  let a0 = f32x4.splat(0);
  let a1 = a0;
  let a2 = a0;
  let a3 = a0;
  let b0 = a0;
  let b1 = a0;
  let b2 = a0;
  let b3 = a0;
  if (!fresh) {
    a0 = v128.load(y0);
    a1 = v128.load(y0, 16);
    a2 = v128.load(y0, 32);
    a3 = v128.load(y0, 48);
    b0 = v128.load(y1);
    b1 = v128.load(y1, 16);
    b2 = v128.load(y1, 32);
    b3 = v128.load(y1, 48);
  }
  const end = x0 + (<usize>count << 2);
  for (; x0 < end; x0 += 4, x1 += 4, rows += stride) {
    const s = v128.load32_splat(x0);
    const t = v128.load32_splat(x1);
    const r0 = v128.load(rows);
    a0 = f32x4.add(a0, f32x4.mul(s, r0));
    b0 = f32x4.add(b0, f32x4.mul(t, r0));
    const r1 = v128.load(rows, 16);
    a1 = f32x4.add(a1, f32x4.mul(s, r1));
    b1 = f32x4.add(b1, f32x4.mul(t, r1));
    const r2 = v128.load(rows, 32);
    a2 = f32x4.add(a2, f32x4.mul(s, r2));
    b2 = f32x4.add(b2, f32x4.mul(t, r2));
    const r3 = v128.load(rows, 48);
    a3 = f32x4.add(a3, f32x4.mul(s, r3));
    b3 = f32x4.add(b3, f32x4.mul(t, r3));
  }
  v128.store(y0, a0);
  v128.store(y0, a1, 16);
  v128.store(y0, a2, 32);
  v128.store(y0, a3, 48);
  v128.store(y1, b0);
  v128.store(y1, b1, 16);
  v128.store(y1, b2, 32);
  v128.store(y1, b3, 48);
}

export function accumulate16(x: usize, count: i32, rows: usize, stride: usize, y: usize, fresh: bool): void {
  let a0 = f32x4.splat(0);
  let a1 = a0;
  let a2 = a0;
  let a3 = a0;
  if (!fresh) {
    a0 = v128.load(y);
    a1 = v128.load(y, 16);
    a2 = v128.load(y, 32);
    a3 = v128.load(y, 48);
  }
  const end = x + (<usize>count << 2);
  for (; x < end; x += 4, rows += stride) {
    const s = v128.load32_splat(x);
    a0 = f32x4.add(a0, f32x4.mul(s, v128.load(rows)));
    a1 = f32x4.add(a1, f32x4.mul(s, v128.load(rows, 16)));
    a2 = f32x4.add(a2, f32x4.mul(s, v128.load(rows, 32)));
    a3 = f32x4.add(a3, f32x4.mul(s, v128.load(rows, 48)));
  }
  v128.store(y, a0);
  v128.store(y, a1, 16);
  v128.store(y, a2, 32);
  v128.store(y, a3, 48);
}

/** Only y[0 … 3], never fresh: for head sizes that are no multiple of 16. */
export function accumulate4(x: usize, count: i32, rows: usize, stride: usize, y: usize): void {
  let a = v128.load(y);
  const end = x + (<usize>count << 2);
  for (; x < end; x += 4, rows += stride) a = f32x4.add(a, f32x4.mul(v128.load32_splat(x), v128.load(rows)));
  v128.store(y, a);
}
