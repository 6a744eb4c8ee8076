/**
 * XᵀX of f32 [rows, K] added to `gram` f32 [K, K], entries j ≥ i alone: each a sum over these rows in ascending order from
 * +0, then added once, so that long texts lose little.
 */
export function addGram(x: Float32Array, K: number, gram: Float32Array): void {
  const { fround } = Math;
  for (let i = 0; i < K; i++)
    for (let j = i; j < K; j++) {
      let sum = 0;
      for (let row = 0; row < x.length; row += K) sum = fround(sum + fround(x[row + i]! * x[row + j]!));
      gram[i * K + j] = gram[i * K + j]! + sum;
    }
}

/** Upper R with A = RᵀR, f64 [K, K] in place; entries below the diagonal are not touched. False where A is not positive. */
export function cholesky(a: Float64Array, K: number): boolean {
  for (let i = 0; i < K; i++) {
    for (let j = i; j < K; j++) {
      let sum = a[i * K + j]!;
      for (let k = 0; k < i; k++) sum -= a[k * K + i]! * a[k * K + j]!;
      a[i * K + j] = sum;
    }
    const pivot = Math.sqrt(a[i * K + i]!);
    if (!(pivot > 0 && pivot < Infinity)) return false;
    for (let j = i; j < K; j++) a[i * K + j] = a[i * K + j]! / pivot;
  }
  return true;
}

/** The inverse of an upper R, in place. */
export function invertUpper(r: Float64Array, K: number): void {
  for (let i = K - 1; i >= 0; i--) {
    const row = r.slice(i * K, (i + 1) * K);
    for (let j = i; j < K; j++) {
      let sum = j === i ? 1 : 0;
      for (let k = j; k > i; k--) sum -= row[k]! * r[k * K + j]!;
      r[i * K + j] = sum / row[i]!;
    }
  }
}
