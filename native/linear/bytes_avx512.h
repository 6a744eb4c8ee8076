#pragma once
// 64 bytes in one register, with the dot product of AVX-512 VNNI. Included inside a target region.

namespace halfbyte::HALFBYTE_ISA {

struct U {
  __m512i v;
};
/** Four inputs, repeated. */
struct X {
  __m512i v;
};

HALFBYTE_INLINE U loadU(const uint8_t* p) { return {_mm512_loadu_si512(p)}; }
HALFBYTE_INLINE void storeU(uint8_t* p, U x) { _mm512_storeu_si512(p, x.v); }
HALFBYTE_INLINE U bytes(int x) { return {_mm512_set1_epi8(static_cast<char>(x))}; }
HALFBYTE_INLINE U nibbleMask() { return bytes(15); }
HALFBYTE_INLINE U operator&(U x, U y) { return {_mm512_and_si512(x.v, y.v)}; }
HALFBYTE_INLINE U operator|(U x, U y) { return {_mm512_or_si512(x.v, y.v)}; }
HALFBYTE_INLINE U operator^(U x, U y) { return {_mm512_xor_si512(x.v, y.v)}; }
template <int n>
HALFBYTE_INLINE U shiftRight16(U x) {
  return {_mm512_srli_epi16(x.v, n)};
}
/** Bits move up by n, down by −n. */
template <int n>
HALFBYTE_INLINE U moveBits16(U x) {
  if constexpr (n > 0) return {_mm512_slli_epi16(x.v, n)};
  if constexpr (n < 0) return {_mm512_srli_epi16(x.v, -n)};
  return x;
}
HALFBYTE_INLINE U repeat16(const int8_t* p) { return {_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i*)p))}; }
HALFBYTE_INLINE U lookUp(U table, U index) { return {_mm512_shuffle_epi8(table.v, index.v)}; }
HALFBYTE_INLINE void prefetch(const uint8_t* p) { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0); }

HALFBYTE_INLINE X four(const uint8_t* p) {
  int32_t word;
  std::memcpy(&word, p, 4);
  return {_mm512_set1_epi32(word)};
}
HALFBYTE_INLINE I dotSigned(I acc, U w, X x) { return {_mm512_dpbusd_epi32(acc.v, w.v, x.v)}; }
HALFBYTE_INLINE I dotUnsigned(I acc, X x, U w) { return {_mm512_dpbusd_epi32(acc.v, x.v, w.v)}; }

}  // namespace halfbyte::HALFBYTE_ISA
