/**
 * The f32 functions of arithmetic rules 2, 5 and 8: the law for every executor. Each operation below is one IEEE f32
 * operation, rounded by itself, in the order written. Nothing branches: a conditional is a lane select, `-x` a flip of
 * the sign bit and `Math.abs` a clear of it, so that each line is one SIMD instruction elsewhere. Which bits of a NaN
 * come out is left open; that a NaN comes out is not.
 *
 * The polynomials are minimax fits by Remez' exchange algorithm, made at 40 digits; each coefficient in turn, lowest
 * power first, was rounded to f32 and the rest fitted again around it.
 */
const f32 = Math.fround;

// Adding 1.5 · 2^23 rounds to an integer, ties to even, and leaves that integer in the low bits of the sum.
const ROUND_MAGIC = 12582912;
const LOG2_E = f32(1.4426950216293335);
// ln 2 in two parts; the first has 9 bits, so that its product with an exponent is exact (Cody and Waite, 1980).
const LN2_HIGH = f32(0.693359375);
const LN2_LOW = f32(-0.00021219444170128554);
/** Above this input exp is past the largest f32, so +Infinity. */
const EXP_MAX_INPUT = f32(88.72283172607422);
/** Below this input exp is less than the smallest normal f32, so +0: subnormal results are slow and of no use here. */
const EXP_MIN_INPUT = f32(-87.33654022216797);

// (e^r − 1 − r) / r² on |r| ≤ 0.34675, 3.2e-9 of e^r.
const E2 = f32(0.4999999403953552);
const E3 = f32(0.16666516661643982);
const E4 = f32(0.04166810214519501);
const E5 = f32(0.00836919154971838);
const E6 = f32(0.001383878057822585);

const floats = new Float32Array(2);
const bits = new Int32Array(floats.buffer);

/** e^x, within 1 ulp where the result is normal; +Infinity above 88.72283, +0 below −87.33654. */
export function expF32(x: number): number {
  const shifted = f32(f32(x * LOG2_E) + ROUND_MAGIC);
  const n = f32(shifted - ROUND_MAGIC);
  const r = f32(f32(x - f32(n * LN2_HIGH)) - f32(n * LN2_LOW));
  let q = f32(f32(E6 * r) + E5);
  q = f32(f32(q * r) + E4);
  q = f32(f32(q * r) + E3);
  q = f32(f32(q * r) + E2);
  floats[0] = f32(f32(f32(q * f32(r * r)) + r) + 1);
  floats[1] = shifted;
  bits[0] = (bits[0]! + (bits[1]! << 23)) | 0;
  const scaled = floats[0]!;
  const finite = x < EXP_MIN_INPUT ? 0 : scaled;
  // The sum is +Infinity for inputs that are too large and NaN for NaN, whose comparison fails as well.
  return x <= EXP_MAX_INPUT ? finite : f32(x + Infinity);
}

// (tanh x − x) / x³ in z = x² on |x| ≤ 0.625, 4.5e-9 of tanh x.
const T0 = f32(-0.3333328068256378);
const T1 = f32(0.13331405818462372);
const T2 = f32(-0.05373651534318924);
const T3 = f32(0.02062816731631756);
const T4 = f32(-0.005692296661436558);

/** tanh x, within 2 ulp; odd, bounded by ±1; +0 for −0. */
export function tanhF32(x: number): number {
  const a = Math.abs(x);
  const z = f32(x * x);
  let p = f32(f32(T4 * z) + T3);
  p = f32(f32(p * z) + T2);
  p = f32(f32(p * z) + T1);
  p = f32(f32(p * z) + T0);
  const near = f32(x + f32(f32(p * z) * x));
  const far = f32(1 - f32(2 / f32(expF32(f32(a + a)) + 1)));
  const signed = x < 0 ? -far : far;
  return a < 0.625 ? near : signed;
}

/** 1 / (1 + e^−x), within 3 ulp; +0 below −88.72283. */
export function sigmoidF32(x: number): number {
  return f32(1 / f32(1 + expF32(-x)));
}

/** x · sigmoid(x); NaN for −Infinity. */
export function siluF32(x: number): number {
  return f32(x / f32(1 + expF32(-x)));
}

// 2·sqrt(2/π), and 0.044715 times that.
const GELU_LINEAR = f32(1.595769166946411);
const GELU_CUBIC = f32(0.07135481387376785);

/**
 * The tanh form of GELU, x/2 · (1 + tanh(sqrt(2/π) · (x + 0.044715·x³))); NaN for −Infinity.
 * Computed as x · sigmoid(2u), the same function since (1 + tanh u)/2 = sigmoid(2u); it keeps the small values of the
 * negative tail. Source: Hendrycks and Gimpel, 2016 (arXiv 1606.08415).
 */
export function geluTanhF32(x: number): number {
  const u = f32(x * f32(f32(GELU_CUBIC * f32(x * x)) + GELU_LINEAR));
  return f32(x / f32(1 + expF32(-u)));
}

// erfc(a) · e^(a²) = t · polynomial(t), t = 1 / (1 + 0.328125·a), the form of Abramowitz and Stegun 7.1.26 with three
// more terms. On 0 ≤ a ≤ 10 the error of the fit is below 1.5e-8 and below 1.5e-6 of erfc(a).
const ERFC_SCALE = f32(0.328125);
const C1 = f32(0.18518297374248505);
const C2 = f32(0.18338407576084137);
const C3 = f32(0.1929500252008438);
const C4 = f32(0.06487943232059479);
const C5 = f32(0.3857029974460602);
const C6 = f32(-0.33859559893608093);
const C7 = f32(0.4603625237941742);
const C8 = f32(-0.13386644423007965);

/** erfc(a) for a ≥ 0. */
function complementaryErf(a: number): number {
  const t = f32(1 / f32(f32(ERFC_SCALE * a) + 1));
  let p = f32(f32(C8 * t) + C7);
  p = f32(f32(p * t) + C6);
  p = f32(f32(p * t) + C5);
  p = f32(f32(p * t) + C4);
  p = f32(f32(p * t) + C3);
  p = f32(f32(p * t) + C2);
  p = f32(f32(p * t) + C1);
  return f32(f32(p * t) * expF32(-f32(a * a)));
}

// erf(x)/x − 1 in z = x² on |x| ≤ 0.5, 1.5e-9 of erf(x)/x.
const R0 = f32(0.12837916612625122);
const R1 = f32(-0.37612611055374146);
const R2 = f32(0.11282850801944733);
const R3 = f32(-0.026758259162306786);
const R4 = f32(0.004719160031527281);

/** The error function, within 2.4e-7 absolute and 4 ulp; odd, bounded by ±1. */
export function erfF32(x: number): number {
  const a = Math.abs(x);
  const z = f32(x * x);
  let p = f32(f32(R4 * z) + R3);
  p = f32(f32(p * z) + R2);
  p = f32(f32(p * z) + R1);
  p = f32(f32(p * z) + R0);
  const near = f32(x + f32(p * x));
  const far = f32(1 - complementaryErf(a));
  const signed = x < 0 ? -far : far;
  return a < 0.5 ? near : signed;
}

const SQRT_HALF = f32(0.7071067690849304);

/** The exact form of GELU, x · Φ(x) with Φ the normal distribution; NaN for −Infinity. */
export function geluErfF32(x: number): number {
  const tail = f32(0.5 * complementaryErf(f32(Math.abs(x) * SQRT_HALF)));
  const phi = x < 0 ? tail : f32(1 - tail);
  return f32(x * phi);
}

/** 1 / sqrt(x), the root and the quotient rounded each. */
export function rsqrtF32(x: number): number {
  return f32(1 / f32(Math.sqrt(x)));
}

const lanes = new Float32Array(16);

/**
 * The sum of the first `length` values in the order of arithmetic rule 2: 16 lanes, then folds of 8, 4, 2 and 1.
 * Value i goes to lane (i + firstLane) mod 16, which lets a sum start in the middle of a block of 16.
 */
export function sum16(values: Float32Array, length: number, firstLane: number = 0): number {
  lanes.fill(0);
  for (let i = 0; i < length; i++) lanes[(i + firstLane) & 15]! += values[i]!;
  for (let width = 8; width > 0; width >>= 1) {
    for (let i = 0; i < width; i++) lanes[i]! += lanes[i + width]!;
  }
  return lanes[0]!;
}
