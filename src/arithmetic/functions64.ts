/**
 * exp, log, pow, sin and cos in f64 from + − × ÷ and bit operations alone, so that every JavaScript engine gives the
 * same bits; `Math.exp` and its like differ in the last bits between engines. Arithmetic rules 6 and 9.
 *
 * The polynomials are the Taylor series, cut where the next term is below 5e-17 on the reduced range. The reductions
 * subtract constants cut in parts with trailing zero bits, so that the products are exact (Cody and Waite, 1980).
 */

// Adding 1.5 · 2^52 rounds to an integer, ties to even.
const ROUND_MAGIC = 6755399441055744;
const LOG2_E = Math.LOG2E;
const LN2_HIGH = 0.6931471803691238; // 32 bits
const LN2_LOW = 1.9082149292705877e-10;

const double = new Float64Array(1);
const words = new Int32Array(double.buffer);
const HIGH_WORD = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1 ? 1 : 0;

// 2^-540 to 2^515: two of them make any power that a result needs, subnormals too.
const POWERS_OF_TWO = new Float64Array(1056);
POWERS_OF_TWO[540] = 1;
for (let i = 541; i < 1056; i++) POWERS_OF_TWO[i] = POWERS_OF_TWO[i - 1]! * 2;
for (let i = 539; i >= 0; i--) POWERS_OF_TWO[i] = POWERS_OF_TWO[i + 1]! / 2;

// 2^(j/64), by the Taylor series; a last unit wrong here is a last unit wrong in the result.
const ROOTS_OF_TWO = new Float64Array(64);
for (let j = 0; j < 64; j++) {
  let power = 0;
  for (let k = 20; k > 0; k--) power = ((1 + power) * (j * (Math.LN2 / 64))) / k;
  ROOTS_OF_TWO[j] = 1 + power;
}

/** e^(x + low), |low| far below |x|: 2^(n/64) from two tables, the rest, at most ln 2 / 128, by a short polynomial. */
function expOfSum(x: number, low: number): number {
  if (!(x < 709.782712893384)) return x + Infinity;
  if (x < -745.1332191019412) return 0;
  const n = x * (LOG2_E * 64) + ROUND_MAGIC - ROUND_MAGIC;
  const r = x - n * (LN2_HIGH / 64) - (n * (LN2_LOW / 64) - low);
  let p = r * (1 / 120) + 1 / 24;
  p = p * r + 1 / 6;
  p = p * r + 1 / 2;
  const root = ROOTS_OF_TWO[n & 63]!;
  const y = root + root * (r + p * r * r);
  const exponent = n >> 6;
  const half = exponent >> 1;
  return y * POWERS_OF_TWO[half + 540]! * POWERS_OF_TWO[exponent - half + 540]!;
}

/** e^x, within 4e-16 relative where the result is normal. */
export function exp64(x: number): number {
  return expOfSum(x, 0);
}

let logHigh = 0;
let logLow = 0;

/** Leaves ln(x) in logHigh + logLow, for a finite x > 0; the sum is good to about 2^-60. */
function logParts(x: number): void {
  const subnormal = x < 2.2250738585072014e-308;
  double[0] = subnormal ? x * 18014398509481984 : x;
  let k = (words[HIGH_WORD]! >> 20) - (subnormal ? 1077 : 1023);
  words[HIGH_WORD] = (words[HIGH_WORD]! & 0xfffff) | 0x3ff00000;
  let m = double[0]!;
  if (m > Math.SQRT2) {
    m *= 0.5;
    k++;
  }
  // ln m = 2 · artanh(s), s = (m − 1) / (m + 1); `sLow` is what the rounded quotient lacks.
  const f = m - 1;
  const u = m + 1;
  const s = f / u;
  productParts(s, u);
  const sLow = (f - productHigh - productLow - s * (m - (u - 1))) / u;
  const z = s * s;
  let p = z * (2 / 23) + 2 / 21;
  p = p * z + 2 / 19;
  p = p * z + 2 / 17;
  p = p * z + 2 / 15;
  p = p * z + 2 / 13;
  p = p * z + 2 / 11;
  p = p * z + 2 / 9;
  p = p * z + 2 / 7;
  p = p * z + 2 / 5;
  p = p * z + 2 / 3;
  const big = k * LN2_HIGH;
  const small = 2 * s;
  const high = big + small;
  const swapped = high - small;
  // Knuth's sum of two, whose error term holds whichever is larger.
  const lost = small - (high - swapped) + (big - swapped);
  const low = lost + (2 * sLow + k * LN2_LOW + p * z * s);
  logHigh = high + low;
  logLow = high - logHigh + low;
}

/** ln x, within 3e-16 relative; −Infinity for 0, NaN below. */
export function log64(x: number): number {
  if (!(x > 0)) return x === 0 ? -Infinity : Number.NaN;
  if (x === Infinity) return x;
  logParts(x);
  return logHigh;
}

let productHigh = 0;
let productLow = 0;

/** Leaves a · b in productHigh + productLow, exactly (Dekker, 1971). */
function productParts(a: number, b: number): void {
  const aScaled = a * 134217729;
  const aHigh = aScaled - (aScaled - a);
  const aLow = a - aHigh;
  const bScaled = b * 134217729;
  const bHigh = bScaled - (bScaled - b);
  const bLow = b - bHigh;
  productHigh = a * b;
  productLow = aHigh * bHigh - productHigh + aHigh * bLow + aLow * bHigh + aLow * bLow;
}

/** base^exponent, within 5e-16 relative, for a finite base > 0 and a finite exponent; NaN otherwise. */
export function pow64(base: number, exponent: number): number {
  if (!(base > 0 && base < Infinity) || !Number.isFinite(exponent)) return Number.NaN;
  logParts(base);
  const estimate = exponent * logHigh;
  // Also keeps the splits below from overflowing.
  if (Math.abs(estimate) > 800) return estimate > 0 ? Infinity : 0;
  productParts(exponent, logHigh);
  return expOfSum(productHigh, productLow + exponent * logLow);
}

const TWO_OVER_PI = 0.6366197723675814;
const HALF_PI_1 = 1.5707963267341256; // 33 bits
const HALF_PI_2 = 6.077100506303966e-11; // 33 bits
const HALF_PI_3 = 2.0222662487959506e-21;

/**
 * Writes sin x and cos x to out[0] and out[1], within 3e-16 absolute for |x| < 1.6e6 (2^20 quarter turns); beyond that
 * within the spacing of f64 at x; NaN from 2^31 on.
 */
export function sinCos64(x: number, out: Float64Array): void {
  if (!(Math.abs(x) < 2147483648)) {
    out[0] = out[1] = Number.NaN;
    return;
  }
  const k = x * TWO_OVER_PI + ROUND_MAGIC - ROUND_MAGIC;
  const r = x - k * HALF_PI_1 - k * HALF_PI_2 - k * HALF_PI_3;
  const z = r * r;
  let p = 1 / 6227020800 - z * (1 / 1307674368000);
  p = p * z - 1 / 39916800;
  p = p * z + 1 / 362880;
  p = p * z - 1 / 5040;
  p = p * z + 1 / 120;
  p = p * z - 1 / 6;
  const sin = r + p * z * r;
  let q = z * (1 / 20922789888000) - 1 / 87178291200;
  q = q * z + 1 / 479001600;
  q = q * z - 1 / 3628800;
  q = q * z + 1 / 40320;
  q = q * z - 1 / 720;
  q = q * z + 1 / 24;
  const cos = 1 - (z * 0.5 - q * z * z);
  const quarter = k & 3;
  const odd = (quarter & 1) === 1;
  const s = odd ? cos : sin;
  const c = odd ? sin : cos;
  out[0] = quarter >= 2 ? -s : s;
  out[1] = quarter === 1 || quarter === 2 ? -c : c;
}

const pair = new Float64Array(2);

/** sin x, as sinCos64 has it. */
export function sin64(x: number): number {
  sinCos64(x, pair);
  return pair[0]!;
}

/** cos x, as sinCos64 has it. */
export function cos64(x: number): number {
  sinCos64(x, pair);
  return pair[1]!;
}
