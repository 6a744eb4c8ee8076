#pragma once
// 64 bytes in two registers. Included inside a target region.

namespace halfbyte::HALFBYTE_ISA {

struct U {
  __m256i a, b;
};
/** Four inputs, repeated. */
struct X {
  __m256i v;
};

HALFBYTE_INLINE U loadU(const uint8_t* p) {
  return {_mm256_loadu_si256((const __m256i*)p), _mm256_loadu_si256((const __m256i*)(p + 32))};
}
HALFBYTE_INLINE U bytes(int x) {
  const __m256i v = _mm256_set1_epi8(static_cast<char>(x));
  return {v, v};
}
HALFBYTE_INLINE U nibbleMask() { return bytes(15); }
HALFBYTE_INLINE U operator&(U x, U y) { return {_mm256_and_si256(x.a, y.a), _mm256_and_si256(x.b, y.b)}; }
HALFBYTE_INLINE U operator|(U x, U y) { return {_mm256_or_si256(x.a, y.a), _mm256_or_si256(x.b, y.b)}; }
HALFBYTE_INLINE U operator^(U x, U y) { return {_mm256_xor_si256(x.a, y.a), _mm256_xor_si256(x.b, y.b)}; }
template <int n>
HALFBYTE_INLINE U shiftRight16(U x) {
  return {_mm256_srli_epi16(x.a, n), _mm256_srli_epi16(x.b, n)};
}
/** Bits move up by n, down by −n. */
template <int n>
HALFBYTE_INLINE U moveBits16(U x) {
  if constexpr (n > 0) return {_mm256_slli_epi16(x.a, n), _mm256_slli_epi16(x.b, n)};
  if constexpr (n < 0) return {_mm256_srli_epi16(x.a, -n), _mm256_srli_epi16(x.b, -n)};
  return x;
}
HALFBYTE_INLINE U repeat16(const int8_t* p) {
  const __m256i v = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)p));
  return {v, v};
}
HALFBYTE_INLINE U lookUp(U table, U index) {
  return {_mm256_shuffle_epi8(table.a, index.a), _mm256_shuffle_epi8(table.b, index.b)};
}
HALFBYTE_INLINE void prefetch(const uint8_t* p) { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0); }

HALFBYTE_INLINE X four(const uint8_t* p) {
  int32_t word;
  std::memcpy(&word, p, 4);
  return {_mm256_set1_epi32(word)};
}

}  // namespace halfbyte::HALFBYTE_ISA
