#pragma once
// Sixteen lanes in two 256-bit registers. Included inside a target region; HALFBYTE_ISA names the namespace.

namespace halfbyte::HALFBYTE_ISA {

struct F {
  __m256 a, b;
};
struct I {
  __m256i a, b;
};
struct Mask {
  __m256 a, b;
};

HALFBYTE_INLINE F setF(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
HALFBYTE_INLINE I setI(int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
HALFBYTE_INLINE F load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
HALFBYTE_INLINE void store(float* p, F x) {
  _mm256_storeu_ps(p, x.a);
  _mm256_storeu_ps(p + 8, x.b);
}
HALFBYTE_INLINE Mask firstLanes(int n) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return {_mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(n), lane)),
          _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(n - 8), lane))};
}
HALFBYTE_INLINE F loadFirst(const float* p, int n) {
  const Mask m = firstLanes(n);
  return {_mm256_maskload_ps(p, _mm256_castps_si256(m.a)), _mm256_maskload_ps(p + 8, _mm256_castps_si256(m.b))};
}
HALFBYTE_INLINE void storeFirst(float* p, F x, int n) {
  const Mask m = firstLanes(n);
  _mm256_maskstore_ps(p, _mm256_castps_si256(m.a), x.a);
  _mm256_maskstore_ps(p + 8, _mm256_castps_si256(m.b), x.b);
}

HALFBYTE_INLINE F operator+(F x, F y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
HALFBYTE_INLINE F operator-(F x, F y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
HALFBYTE_INLINE F operator*(F x, F y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
HALFBYTE_INLINE F operator/(F x, F y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
HALFBYTE_INLINE F smaller(F x, F y) { return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)}; }
HALFBYTE_INLINE F larger(F x, F y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
HALFBYTE_INLINE Mask operator<(F x, F y) {
  return {_mm256_cmp_ps(x.a, y.a, _CMP_LT_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_LT_OQ)};
}
HALFBYTE_INLINE Mask operator<=(F x, F y) {
  return {_mm256_cmp_ps(x.a, y.a, _CMP_LE_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_LE_OQ)};
}
HALFBYTE_INLINE Mask ordered(F x) {
  return {_mm256_cmp_ps(x.a, x.a, _CMP_ORD_Q), _mm256_cmp_ps(x.b, x.b, _CMP_ORD_Q)};
}
HALFBYTE_INLINE F select(Mask m, F yes, F no) {
  return {_mm256_blendv_ps(no.a, yes.a, m.a), _mm256_blendv_ps(no.b, yes.b, m.b)};
}

HALFBYTE_INLINE I operator+(I x, I y) { return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)}; }
HALFBYTE_INLINE I operator-(I x, I y) { return {_mm256_sub_epi32(x.a, y.a), _mm256_sub_epi32(x.b, y.b)}; }
HALFBYTE_INLINE I operator*(I x, I y) { return {_mm256_mullo_epi32(x.a, y.a), _mm256_mullo_epi32(x.b, y.b)}; }
HALFBYTE_INLINE I operator&(I x, I y) { return {_mm256_and_si256(x.a, y.a), _mm256_and_si256(x.b, y.b)}; }
HALFBYTE_INLINE I operator^(I x, I y) { return {_mm256_xor_si256(x.a, y.a), _mm256_xor_si256(x.b, y.b)}; }
HALFBYTE_INLINE I larger(I x, I y) { return {_mm256_max_epi32(x.a, y.a), _mm256_max_epi32(x.b, y.b)}; }
template <int n>
HALFBYTE_INLINE I shiftLeft(I x) {
  return {_mm256_slli_epi32(x.a, n), _mm256_slli_epi32(x.b, n)};
}
template <int n>
HALFBYTE_INLINE I shiftRightSigned(I x) {
  return {_mm256_srai_epi32(x.a, n), _mm256_srai_epi32(x.b, n)};
}

HALFBYTE_INLINE I bitsOf(F x) { return {_mm256_castps_si256(x.a), _mm256_castps_si256(x.b)}; }
HALFBYTE_INLINE F floatOfBits(I x) { return {_mm256_castsi256_ps(x.a), _mm256_castsi256_ps(x.b)}; }
HALFBYTE_INLINE F toFloat(I x) { return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }
/** Of whole numbers. */
HALFBYTE_INLINE I toInt(F x) { return {_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)}; }

HALFBYTE_INLINE F loadF16(const uint16_t* p) {
  return {_mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)p)), _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(p + 8)))};
}
HALFBYTE_INLINE void storeF16Bits(uint16_t* p, F x) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  _mm_storeu_si128((__m128i*)p, _mm256_cvtps_ph(x.a, kNearest));
  _mm_storeu_si128((__m128i*)(p + 8), _mm256_cvtps_ph(x.b, kNearest));
}
HALFBYTE_INLINE __m256 widenBf16(const uint16_t* p) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)p)), 16));
}
HALFBYTE_INLINE F loadBf16(const uint16_t* p) { return {widenBf16(p), widenBf16(p + 8)}; }
HALFBYTE_INLINE I loadU8(const uint8_t* p) {
  const __m128i bytes = _mm_loadu_si128((const __m128i*)p);
  return {_mm256_cvtepu8_epi32(bytes), _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8))};
}
HALFBYTE_INLINE I loadI8(const uint8_t* p) {
  const __m128i bytes = _mm_loadu_si128((const __m128i*)p);
  return {_mm256_cvtepi8_epi32(bytes), _mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8))};
}
/** The low bytes. */
HALFBYTE_INLINE void storeBytes(uint8_t* p, I x) {
  const __m256i low = _mm256_set1_epi32(255);
  const __m256i words = _mm256_packus_epi32(_mm256_and_si256(x.a, low), _mm256_and_si256(x.b, low));
  const __m256i bytes = _mm256_packus_epi16(words, words);
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 0, 0, 0, 0);
  _mm_storeu_si128((__m128i*)p, _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(bytes, order)));
}

/** Rule 2: lanes fold 8, 4, 2, 1. */
HALFBYTE_INLINE float fold(F x) {
  const __m256 eight = _mm256_add_ps(x.a, x.b);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}
HALFBYTE_INLINE int32_t largest(I x) {
  const __m256i eight = _mm256_max_epi32(x.a, x.b);
  __m128i four = _mm_max_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}
HALFBYTE_INLINE float largest(F x) {
  const __m256 eight = _mm256_max_ps(x.a, x.b);
  __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  four = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(four, _mm_shuffle_ps(four, four, 1)));
}
HALFBYTE_INLINE int32_t sum(I x) {
  const __m256i eight = _mm256_add_epi32(x.a, x.b);
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}

}  // namespace halfbyte::HALFBYTE_ISA
