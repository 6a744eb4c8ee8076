#pragma once
// The dot product of AVX-VNNI on two registers. Included inside a target region, after bytes_avx2.h.

namespace halfbyte::HALFBYTE_ISA {

HALFBYTE_INLINE I dotSigned(I acc, U w, X x) {
  return {_mm256_dpbusd_avx_epi32(acc.a, w.a, x.v), _mm256_dpbusd_avx_epi32(acc.b, w.b, x.v)};
}
HALFBYTE_INLINE I dotUnsigned(I acc, X x, U w) {
  return {_mm256_dpbusd_avx_epi32(acc.a, x.v, w.a), _mm256_dpbusd_avx_epi32(acc.b, x.v, w.b)};
}

}  // namespace halfbyte::HALFBYTE_ISA
