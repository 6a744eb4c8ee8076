#pragma once
// The dot product of AVX-VNNI on two registers. Included inside a target region, after bytes_avx2.h.

namespace halfbyte::HALFBYTE_ISA {

/** Unsigned times signed bytes. */
HALFBYTE_INLINE __m256i dotBytes(__m256i acc, __m256i u, __m256i s) {
#if defined(HALFBYTE_EMULATE)
  return _mm256_dpbusd_epi32(acc, u, s);
#else
  return _mm256_dpbusd_avx_epi32(acc, u, s);
#endif
}
HALFBYTE_INLINE I dotSigned(I acc, U w, X x) { return {dotBytes(acc.a, w.a, x.v), dotBytes(acc.b, w.b, x.v)}; }
HALFBYTE_INLINE I dotUnsigned(I acc, X x, U w) { return {dotBytes(acc.a, x.v, w.a), dotBytes(acc.b, x.v, w.b)}; }

}  // namespace halfbyte::HALFBYTE_ISA
