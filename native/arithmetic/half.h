#pragma once

#include <cstdint>
#include <cstring>

namespace halfbyte {

inline float floatFromBits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}
inline uint32_t bitsFromFloat(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}

// The conversions of src/arithmetic/half.ts, bit by bit, for code without the instructions.

inline float f16ToF32(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t rest = half & 0x7fff;
  if (rest >= 0x7c00) return floatFromBits(sign | 0x7f800000 | ((rest & 0x3ff) << 13));
  // 2^112 moves the exponent from the bias of f16 to that of f32; exact, also from a subnormal.
  return floatFromBits(sign | bitsFromFloat(floatFromBits(rest << 13) * 0x1p112f));
}

/** Nearest, ties to even; past ±65504 the largest finite f16; NaN gives 0x7e00. */
inline uint16_t f32ToF16(float x) {
  const uint32_t bits = bitsFromFloat(x);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return 0x7e00;
  if (magnitude >= 0x477fe000) return static_cast<uint16_t>(sign | 0x7bff);
  // One f32 unit in the last place of 0.5 is 2^-24, the smallest f16: the addition does the rounding.
  if (magnitude < 0x38800000)
    return static_cast<uint16_t>(sign | (bitsFromFloat(floatFromBits(magnitude) + 0.5f) - 0x3f000000));
  return static_cast<uint16_t>(sign | ((magnitude + 0xfff + ((magnitude >> 13) & 1) - (112u << 23)) >> 13));
}

inline float bf16ToF32(uint16_t half) { return floatFromBits(static_cast<uint32_t>(half) << 16); }

}  // namespace halfbyte
