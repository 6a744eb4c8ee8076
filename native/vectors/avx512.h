#pragma once
// Sixteen lanes in one 512-bit register. Included inside a target region; HALFBYTE_ISA names the namespace.

namespace halfbyte::HALFBYTE_ISA {

struct F {
  __m512 v;
};
struct I {
  __m512i v;
};
using Mask = __mmask16;

HALFBYTE_INLINE F setF(float x) { return {_mm512_set1_ps(x)}; }
HALFBYTE_INLINE I setI(int32_t x) { return {_mm512_set1_epi32(x)}; }
HALFBYTE_INLINE F load(const float* p) { return {_mm512_loadu_ps(p)}; }
HALFBYTE_INLINE void store(float* p, F x) { _mm512_storeu_ps(p, x.v); }
HALFBYTE_INLINE Mask firstLanes(int n) { return n >= 16 ? 0xffff : static_cast<Mask>((1u << n) - 1); }
HALFBYTE_INLINE F loadFirst(const float* p, int n) { return {_mm512_maskz_loadu_ps(firstLanes(n), p)}; }
HALFBYTE_INLINE void storeFirst(float* p, F x, int n) { _mm512_mask_storeu_ps(p, firstLanes(n), x.v); }

HALFBYTE_INLINE F operator+(F a, F b) { return {_mm512_add_ps(a.v, b.v)}; }
HALFBYTE_INLINE F operator-(F a, F b) { return {_mm512_sub_ps(a.v, b.v)}; }
HALFBYTE_INLINE F operator*(F a, F b) { return {_mm512_mul_ps(a.v, b.v)}; }
HALFBYTE_INLINE F operator/(F a, F b) { return {_mm512_div_ps(a.v, b.v)}; }
HALFBYTE_INLINE F smaller(F a, F b) { return {_mm512_min_ps(a.v, b.v)}; }
HALFBYTE_INLINE F larger(F a, F b) { return {_mm512_max_ps(a.v, b.v)}; }
HALFBYTE_INLINE Mask operator<(F a, F b) { return _mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ); }
HALFBYTE_INLINE Mask operator<=(F a, F b) { return _mm512_cmp_ps_mask(a.v, b.v, _CMP_LE_OQ); }
HALFBYTE_INLINE Mask ordered(F a) { return _mm512_cmp_ps_mask(a.v, a.v, _CMP_ORD_Q); }
HALFBYTE_INLINE F select(Mask m, F yes, F no) { return {_mm512_mask_blend_ps(m, no.v, yes.v)}; }

HALFBYTE_INLINE I operator+(I a, I b) { return {_mm512_add_epi32(a.v, b.v)}; }
HALFBYTE_INLINE I operator-(I a, I b) { return {_mm512_sub_epi32(a.v, b.v)}; }
HALFBYTE_INLINE I operator*(I a, I b) { return {_mm512_mullo_epi32(a.v, b.v)}; }
HALFBYTE_INLINE I operator&(I a, I b) { return {_mm512_and_si512(a.v, b.v)}; }
HALFBYTE_INLINE I operator^(I a, I b) { return {_mm512_xor_si512(a.v, b.v)}; }
HALFBYTE_INLINE I larger(I a, I b) { return {_mm512_max_epi32(a.v, b.v)}; }
template <int n>
HALFBYTE_INLINE I shiftLeft(I a) {
  return {_mm512_slli_epi32(a.v, n)};
}
template <int n>
HALFBYTE_INLINE I shiftRightSigned(I a) {
  return {_mm512_srai_epi32(a.v, n)};
}

HALFBYTE_INLINE I bitsOf(F x) { return {_mm512_castps_si512(x.v)}; }
HALFBYTE_INLINE F floatOfBits(I x) { return {_mm512_castsi512_ps(x.v)}; }
HALFBYTE_INLINE F toFloat(I x) { return {_mm512_cvtepi32_ps(x.v)}; }
/** Of whole numbers. */
HALFBYTE_INLINE I toInt(F x) { return {_mm512_cvtps_epi32(x.v)}; }

HALFBYTE_INLINE F loadF16(const uint16_t* p) { return {_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)p))}; }
HALFBYTE_INLINE void storeF16Bits(uint16_t* p, F x) {
  _mm256_storeu_si256((__m256i*)p, _mm512_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
HALFBYTE_INLINE F loadBf16(const uint16_t* p) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)p)), 16))};
}
HALFBYTE_INLINE I loadU8(const uint8_t* p) { return {_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)p))}; }
HALFBYTE_INLINE I loadI8(const uint8_t* p) { return {_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)p))}; }
/** The low bytes. */
HALFBYTE_INLINE void storeBytes(uint8_t* p, I x) { _mm_storeu_si128((__m128i*)p, _mm512_cvtepi32_epi8(x.v)); }

/** Rule 2: lanes fold 8, 4, 2, 1. */
HALFBYTE_INLINE float fold(F x) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(x.v), _mm512_extractf32x8_ps(x.v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}
HALFBYTE_INLINE int32_t largest(I x) { return _mm512_reduce_max_epi32(x.v); }
HALFBYTE_INLINE float largest(F x) { return _mm512_reduce_max_ps(x.v); }
HALFBYTE_INLINE int32_t sum(I x) { return _mm512_reduce_add_epi32(x.v); }

}  // namespace halfbyte::HALFBYTE_ISA
