/**
 * 16-bit floats by their bits. To f32 every conversion is exact; from f32 it rounds to nearest, ties to even, and f16
 * saturates at ±65504, infinities included (arithmetic rule 0). Numbers that are not f32 are rounded to f32 first.
 * NaN has no payload here: it becomes 0x7e00 (f16) or 0x7fc0 (bf16), and any NaN pattern reads as NaN.
 */
const float: Float32Array = new Float32Array(1);
const word: Uint32Array = new Uint32Array(float.buffer);

const F16_QUIET_NAN = 0x7e00;
const F16_LARGEST = 0x7bff;
const BF16_QUIET_NAN = 0x7fc0;
const F32_INFINITY_BITS = 0x7f800000;
const F32_BITS_OF_65504 = 0x477fe000;
const F32_BITS_OF_SMALLEST_NORMAL_F16 = 0x38800000;
const F32_BITS_OF_HALF = 0x3f000000;
/** f16 and f32 exponents are biased by 15 and 127; the difference is a factor of 2^112. */
const BIAS_DIFFERENCE = 112;
const BIAS_FACTOR = 2 ** BIAS_DIFFERENCE;

/** The f32 value of f16 bits, exact; subnormals kept. */
export function f16ToF32(bits: number): number {
  word[0] = (bits & 0x7fff) << 13;
  let magnitude = float[0]! * BIAS_FACTOR;
  if (magnitude >= 65536) magnitude = (bits & 0x3ff) === 0 ? Number.POSITIVE_INFINITY : Number.NaN;
  return (bits & 0x8000) === 0 ? magnitude : -magnitude;
}

/** The f16 bits nearest to x, ties to even; past ±65504 the largest finite f16; NaN gives 0x7e00. */
export function f32ToF16(x: number): number {
  float[0] = x;
  const sign = (word[0]! >>> 16) & 0x8000;
  const magnitude = word[0]! & 0x7fffffff;
  if (magnitude > F32_INFINITY_BITS) return F16_QUIET_NAN;
  if (magnitude >= F32_BITS_OF_65504) return sign | F16_LARGEST;
  if (magnitude < F32_BITS_OF_SMALLEST_NORMAL_F16) {
    // One f32 unit in the last place of 0.5 is 2^-24, the smallest f16: the addition does the rounding.
    float[0] = Math.abs(float[0]!) + 0.5;
    return sign | (word[0]! - F32_BITS_OF_HALF);
  }
  const rounded = magnitude + 0xfff + ((magnitude >>> 13) & 1) - (BIAS_DIFFERENCE << 23);
  return sign | (rounded >>> 13);
}

/** The f32 value of bf16 bits, exact. */
export function bf16ToF32(bits: number): number {
  word[0] = bits << 16;
  return float[0]!;
}

/** The bf16 bits nearest to x, ties to even; the largest f32 values round to infinity; NaN gives 0x7fc0. */
export function f32ToBf16(x: number): number {
  float[0] = x;
  const bits = word[0]!;
  if ((bits & 0x7fffffff) > F32_INFINITY_BITS) return BF16_QUIET_NAN;
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}
