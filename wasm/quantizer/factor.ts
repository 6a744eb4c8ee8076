// src/quantize/reference/factor.ts. Matrices stand with rows of `stride` numbers, a multiple of 8, zeros past K.

/** Adds XᵀX to the upper part of gram f32: rows `first` to `end`, multiples of 4, from the diagonal (rounded down to 8) on. */
export function addGram(x: usize, rows: i32, stride: i32, gram: usize, first: i32, end: i32): void {
  const rowBytes = <usize>stride << 2;
  for (let j = first & ~7; j < stride; j += 8)
    for (let i = first; i < min(end, j + 8); i += 4)
      gramTile(x + (<usize>i << 2), x + (<usize>j << 2), rows, rowBytes, gram + <usize>i * rowBytes + (<usize>j << 2));
}

function gramTile(left: usize, right: usize, rows: i32, rowBytes: usize, out: usize): void {
  let a0 = f32x4.splat(0);
  let a1 = a0;
  let b0 = a0;
  let b1 = a0;
  let c0 = a0;
  let c1 = a0;
  let d0 = a0;
  let d1 = a0;
  for (; rows > 0; rows--, left += rowBytes, right += rowBytes) {
    const x0 = v128.load(right);
    const x1 = v128.load(right, 16);
    let y = v128.load32_splat(left);
    a0 = f32x4.add(a0, f32x4.mul(y, x0));
    a1 = f32x4.add(a1, f32x4.mul(y, x1));
    y = v128.load32_splat(left, 4);
    b0 = f32x4.add(b0, f32x4.mul(y, x0));
    b1 = f32x4.add(b1, f32x4.mul(y, x1));
    y = v128.load32_splat(left, 8);
    c0 = f32x4.add(c0, f32x4.mul(y, x0));
    c1 = f32x4.add(c1, f32x4.mul(y, x1));
    y = v128.load32_splat(left, 12);
    d0 = f32x4.add(d0, f32x4.mul(y, x0));
    d1 = f32x4.add(d1, f32x4.mul(y, x1));
  }
  addTo(out, a0, a1);
  addTo(out + rowBytes, b0, b1);
  addTo(out + 2 * rowBytes, c0, c1);
  addTo(out + 3 * rowBytes, d0, d1);
}

// @ts-ignore: decorator
@inline
function addTo(out: usize, x: v128, y: v128): void {
  v128.store(out, f32x4.add(v128.load(out), x));
  v128.store(out, f32x4.add(v128.load(out, 16), y), 16);
}

/** Rows of the matrices below that are worked on together. */
const BLOCK: i32 = 16;

/**
 * a f64 from gram f32, its inputs in the reverse of `order`, with `added` on the diagonal: an inverse's upper factor is the
 * inverse of what comes of it. An input that never was anything but 0 has `added` alone.
 */
export function reversedGram(gram: usize, order: usize, K: i32, stride: i32, added: f64, a: usize): void {
  for (let p = 0; p < K; p++) {
    const row = load<i32>(order + (<usize>(K - 1 - p) << 2));
    const to = a + ((<usize>p * <usize>stride) << 3);
    for (let q = 0; q < K; q++) {
      const column = load<i32>(order + (<usize>(K - 1 - q) << 2));
      const at = <usize>min(row, column) * <usize>stride + <usize>max(row, column);
      store<f64>(to + (<usize>q << 3), <f64>load<f32>(gram + (at << 2)) + (p == q ? added : 0));
    }
    memory.fill(to + (<usize>K << 3), 0, <usize>(stride - K) << 3);
  }
}

/** Upper R with A = RᵀR in place; below the diagonal the matrix is left with no meaning. False where A is not positive. */
export function cholesky(a: usize, K: i32, stride: i32): bool {
  const rowBytes = <usize>stride << 3;
  for (let first = 0; first < K; first += BLOCK) {
    const end = min(K, first + BLOCK);
    const rows = a + <usize>first * rowBytes;
    for (let j = first & ~7; j < stride; j += 8) {
      const right = a + (<usize>j << 3);
      let i = first;
      for (; i + 2 <= end; i += 2)
        subtractTwo(a + (<usize>i << 3), right, rowBytes, first, a + <usize>i * rowBytes + (<usize>j << 3));
      for (; i < end; i++)
        subtractUp(a + (<usize>i << 3), rowBytes, right, rowBytes, first, a + <usize>i * rowBytes + (<usize>j << 3));
    }
    for (let i = first; i < end; i++) {
      const row = a + <usize>i * rowBytes;
      for (let j = i & ~7; j < stride; j += 8)
        subtractUp(rows + (<usize>i << 3), rowBytes, rows + (<usize>j << 3), rowBytes, i - first, row + (<usize>j << 3));
      const pivot = sqrt(load<f64>(row + (<usize>i << 3)));
      if (!(pivot > 0 && pivot < Infinity)) return false;
      for (let j = i; j < K; j++) {
        const at = row + (<usize>j << 3);
        store<f64>(at, load<f64>(at) / pivot);
      }
    }
  }
  return true;
}

/** out[8] −= left[k] · right[k][8], k from 0 to count. */
// @ts-ignore: decorator
@inline
function subtractUp(left: usize, leftStep: usize, right: usize, rightStep: usize, count: i32, out: usize): void {
  let a = v128.load(out);
  let b = v128.load(out, 16);
  let c = v128.load(out, 32);
  let d = v128.load(out, 48);
  for (; count > 0; count--, left += leftStep, right += rightStep) {
    const y = v128.load64_splat(left);
    a = f64x2.sub(a, f64x2.mul(y, v128.load(right)));
    b = f64x2.sub(b, f64x2.mul(y, v128.load(right, 16)));
    c = f64x2.sub(c, f64x2.mul(y, v128.load(right, 32)));
    d = f64x2.sub(d, f64x2.mul(y, v128.load(right, 48)));
  }
  v128.store(out, a);
  v128.store(out, b, 16);
  v128.store(out, c, 32);
  v128.store(out, d, 48);
}

/** As `subtractUp` for two rows of `out`, and two neighbours in each row of `left`. */
function subtractTwo(left: usize, right: usize, rowBytes: usize, count: i32, out: usize): void {
  const next = out + rowBytes;
  let a = v128.load(out);
  let b = v128.load(out, 16);
  let c = v128.load(out, 32);
  let d = v128.load(out, 48);
  let a2 = v128.load(next);
  let b2 = v128.load(next, 16);
  let c2 = v128.load(next, 32);
  let d2 = v128.load(next, 48);
  for (; count > 0; count--, left += rowBytes, right += rowBytes) {
    const y = v128.load64_splat(left);
    const y2 = v128.load64_splat(left, 8);
    let x = v128.load(right);
    a = f64x2.sub(a, f64x2.mul(y, x));
    a2 = f64x2.sub(a2, f64x2.mul(y2, x));
    x = v128.load(right, 16);
    b = f64x2.sub(b, f64x2.mul(y, x));
    b2 = f64x2.sub(b2, f64x2.mul(y2, x));
    x = v128.load(right, 32);
    c = f64x2.sub(c, f64x2.mul(y, x));
    c2 = f64x2.sub(c2, f64x2.mul(y2, x));
    x = v128.load(right, 48);
    d = f64x2.sub(d, f64x2.mul(y, x));
    d2 = f64x2.sub(d2, f64x2.mul(y2, x));
  }
  v128.store(out, a);
  v128.store(out, b, 16);
  v128.store(out, c, 32);
  v128.store(out, d, 48);
  v128.store(next, a2);
  v128.store(next, b2, 16);
  v128.store(next, c2, 32);
  v128.store(next, d2, 48);
}

/** The inverse of an upper R in place; zeros below the diagonal. room: f64 [16][stride]. */
export function invertUpper(r: usize, K: i32, stride: i32, room: usize): void {
  const rowBytes = <usize>stride << 3;
  for (let i = 1; i < K; i++) memory.fill(r + <usize>i * rowBytes, 0, <usize>i << 3);
  for (let end = K; end > 0; ) {
    const first = max(0, (end - 1) & ~(BLOCK - 1));
    memory.copy(room, r + <usize>first * rowBytes, <usize>(end - first) * rowBytes);
    for (let i = first; i < end; i++) {
      const row = r + <usize>i * rowBytes;
      memory.fill(row, 0, rowBytes);
      store<f64>(row + (<usize>i << 3), 1);
    }
    for (let j = first & ~7; j < stride; j += 8) {
      const last = min(K - 1, j + 7);
      for (let i = first; i < end; i++)
        subtractDown(room + <usize>(i - first) * rowBytes, r + (<usize>j << 3), rowBytes, last, end, r + <usize>i * rowBytes + (<usize>j << 3));
    }
    for (let i = end - 1; i >= first; i--) {
      const row = r + <usize>i * rowBytes;
      const original = room + <usize>(i - first) * rowBytes;
      const pivot = load<f64>(original + (<usize>i << 3));
      for (let j = i & ~7; j < stride; j += 8) {
        subtractDown(original, r + (<usize>j << 3), rowBytes, min(end - 1, j + 7), i + 1, row + (<usize>j << 3));
        for (let k = j; k < j + 8; k++) {
          const at = row + (<usize>k << 3);
          store<f64>(at, load<f64>(at) / pivot);
        }
      }
    }
    end = first;
  }
}

/** out[8] −= left[k] · right[k][8], k from `last` down to `first`. */
// @ts-ignore: decorator
@inline
function subtractDown(left: usize, right: usize, rowBytes: usize, last: i32, first: i32, out: usize): void {
  let a = v128.load(out);
  let b = v128.load(out, 16);
  let c = v128.load(out, 32);
  let d = v128.load(out, 48);
  for (let k = last; k >= first; k--) {
    const y = v128.load64_splat(left + (<usize>k << 3));
    const at = right + <usize>k * rowBytes;
    a = f64x2.sub(a, f64x2.mul(y, v128.load(at)));
    b = f64x2.sub(b, f64x2.mul(y, v128.load(at, 16)));
    c = f64x2.sub(c, f64x2.mul(y, v128.load(at, 32)));
    d = f64x2.sub(d, f64x2.mul(y, v128.load(at, 48)));
  }
  v128.store(out, a);
  v128.store(out, b, 16);
  v128.store(out, c, 32);
  v128.store(out, d, 48);
}

/** By columns and in f32, what `gptqPanel` takes: entry (i, j) of the factor is entry (K−1−j, K−1−i) of the inverse. */
export function takeFactor(inverse: usize, K: i32, stride: i32, factor: usize): void {
  for (let j = 0; j < K; j++) {
    const row = inverse + ((<usize>(K - 1 - j) * <usize>stride + <usize>(K - 1)) << 3);
    for (let i = 0; i <= j; i++, factor += 4) store<f32>(factor, <f32>load<f64>(row - (<usize>i << 3)));
    factor += <usize>(K - 1 - j) << 2;
  }
}

/** Σ of gram · other over the whole of two symmetric matrices of which the upper parts stand. */
export function symmetricDot(gram: usize, other: usize, K: i32, stride: i32): f64 {
  let sum: f64 = 0;
  for (let i = 0; i < K; i++) {
    const row = (<usize>i * <usize>stride) << 2;
    let part: f64 = 0;
    for (let j = i + 1; j < K; j++)
      part += <f64>load<f32>(gram + row + (<usize>j << 2)) * <f64>load<f32>(other + row + (<usize>j << 2));
    sum += 2 * part + <f64>load<f32>(gram + row + (<usize>i << 2)) * <f64>load<f32>(other + row + (<usize>i << 2));
  }
  return sum;
}
