#pragma once
// Sixteen lanes in an array, for CPUs without a kernel of their own; the compiler uses what its baseline has.

namespace halfbyte::HALFBYTE_ISA {

struct F {
  float v[16];
};
struct I {
  int32_t v[16];
};
struct Mask {
  bool v[16];
};

template <class Out, class Op>
HALFBYTE_INLINE Out lanes(Op op) {
  Out out;
  for (int l = 0; l < 16; l++) out.v[l] = op(l);
  return out;
}
/** int32 arithmetic that wraps. */
HALFBYTE_INLINE uint32_t u(int32_t x) { return static_cast<uint32_t>(x); }
HALFBYTE_INLINE int32_t s(uint32_t x) { return static_cast<int32_t>(x); }

HALFBYTE_INLINE F setF(float x) { return lanes<F>([&](int) { return x; }); }
HALFBYTE_INLINE I setI(int32_t x) { return lanes<I>([&](int) { return x; }); }
HALFBYTE_INLINE F load(const float* p) { return lanes<F>([&](int l) { return p[l]; }); }
HALFBYTE_INLINE void store(float* p, F x) { std::memcpy(p, x.v, sizeof x.v); }
HALFBYTE_INLINE Mask firstLanes(int n) { return lanes<Mask>([&](int l) { return l < n; }); }
HALFBYTE_INLINE F loadFirst(const float* p, int n) { return lanes<F>([&](int l) { return l < n ? p[l] : 0.0f; }); }
HALFBYTE_INLINE void storeFirst(float* p, F x, int n) { std::memcpy(p, x.v, (n < 16 ? n : 16) * sizeof(float)); }

HALFBYTE_INLINE F operator+(F x, F y) { return lanes<F>([&](int l) { return x.v[l] + y.v[l]; }); }
HALFBYTE_INLINE F operator-(F x, F y) { return lanes<F>([&](int l) { return x.v[l] - y.v[l]; }); }
HALFBYTE_INLINE F operator*(F x, F y) { return lanes<F>([&](int l) { return x.v[l] * y.v[l]; }); }
HALFBYTE_INLINE F operator/(F x, F y) { return lanes<F>([&](int l) { return x.v[l] / y.v[l]; }); }
// As the x86 instructions: the second where either is NaN.
HALFBYTE_INLINE F smaller(F x, F y) { return lanes<F>([&](int l) { return x.v[l] < y.v[l] ? x.v[l] : y.v[l]; }); }
HALFBYTE_INLINE F larger(F x, F y) { return lanes<F>([&](int l) { return x.v[l] > y.v[l] ? x.v[l] : y.v[l]; }); }
HALFBYTE_INLINE Mask operator<(F x, F y) { return lanes<Mask>([&](int l) { return x.v[l] < y.v[l]; }); }
HALFBYTE_INLINE Mask operator<=(F x, F y) { return lanes<Mask>([&](int l) { return x.v[l] <= y.v[l]; }); }
HALFBYTE_INLINE Mask ordered(F x) { return lanes<Mask>([&](int l) { return x.v[l] == x.v[l]; }); }
HALFBYTE_INLINE F select(Mask m, F yes, F no) { return lanes<F>([&](int l) { return m.v[l] ? yes.v[l] : no.v[l]; }); }

HALFBYTE_INLINE I operator+(I x, I y) { return lanes<I>([&](int l) { return s(u(x.v[l]) + u(y.v[l])); }); }
HALFBYTE_INLINE I operator-(I x, I y) { return lanes<I>([&](int l) { return s(u(x.v[l]) - u(y.v[l])); }); }
HALFBYTE_INLINE I operator*(I x, I y) { return lanes<I>([&](int l) { return s(u(x.v[l]) * u(y.v[l])); }); }
HALFBYTE_INLINE I operator&(I x, I y) { return lanes<I>([&](int l) { return x.v[l] & y.v[l]; }); }
HALFBYTE_INLINE I operator^(I x, I y) { return lanes<I>([&](int l) { return x.v[l] ^ y.v[l]; }); }
HALFBYTE_INLINE I larger(I x, I y) { return lanes<I>([&](int l) { return x.v[l] > y.v[l] ? x.v[l] : y.v[l]; }); }
template <int n>
HALFBYTE_INLINE I shiftLeft(I x) {
  return lanes<I>([&](int l) { return s(u(x.v[l]) << n); });
}
template <int n>
HALFBYTE_INLINE I shiftRightSigned(I x) {
  return lanes<I>([&](int l) { return x.v[l] >> n; });
}

HALFBYTE_INLINE I bitsOf(F x) {
  I out;
  std::memcpy(&out, &x, sizeof x);
  return out;
}
HALFBYTE_INLINE F floatOfBits(I x) {
  F out;
  std::memcpy(&out, &x, sizeof x);
  return out;
}
HALFBYTE_INLINE F toFloat(I x) { return lanes<F>([&](int l) { return static_cast<float>(x.v[l]); }); }
/** Of whole numbers that fit. */
HALFBYTE_INLINE I toInt(F x) { return lanes<I>([&](int l) { return static_cast<int32_t>(x.v[l]); }); }

HALFBYTE_INLINE F loadF16(const uint16_t* p) { return lanes<F>([&](int l) { return f16ToF32(p[l]); }); }
HALFBYTE_INLINE void storeF16Bits(uint16_t* p, F x) {
  for (int l = 0; l < 16; l++) p[l] = f32ToF16(x.v[l]);
}
HALFBYTE_INLINE F loadBf16(const uint16_t* p) { return lanes<F>([&](int l) { return bf16ToF32(p[l]); }); }
HALFBYTE_INLINE I loadU8(const uint8_t* p) { return lanes<I>([&](int l) { return int32_t{p[l]}; }); }
HALFBYTE_INLINE I loadI8(const uint8_t* p) { return lanes<I>([&](int l) { return int32_t{static_cast<int8_t>(p[l])}; }); }
/** The low bytes. */
HALFBYTE_INLINE void storeBytes(uint8_t* p, I x) {
  for (int l = 0; l < 16; l++) p[l] = static_cast<uint8_t>(x.v[l]);
}

/** Rule 2: lanes fold 8, 4, 2, 1. */
HALFBYTE_INLINE float fold(F x) {
  for (int width = 8; width > 0; width >>= 1)
    for (int l = 0; l < width; l++) x.v[l] += x.v[l + width];
  return x.v[0];
}
HALFBYTE_INLINE int32_t largest(I x) {
  int32_t out = x.v[0];
  for (int l = 1; l < 16; l++) out = x.v[l] > out ? x.v[l] : out;
  return out;
}
HALFBYTE_INLINE float largest(F x) {
  float out = x.v[0];
  for (int l = 1; l < 16; l++) out = x.v[l] > out ? x.v[l] : out;
  return out;
}
HALFBYTE_INLINE int32_t sum(I x) {
  int32_t out = 0;
  for (int l = 0; l < 16; l++) out += x.v[l];
  return out;
}

}  // namespace halfbyte::HALFBYTE_ISA
