#pragma once
// Integer sums with vpmaddubsw, which adds two products of an unsigned and a signed byte in 16 bits and saturates: every
// use below stays under 32768 by the widths of its codes. Included inside a target region.

namespace halfbyte::HALFBYTE_ISA {

/** acc += weight · (pairs of 16-bit sums). */
HALFBYTE_INLINE I addPairs(I acc, U sums, int weight) {
  const __m256i w = _mm256_set1_epi16(static_cast<int16_t>(weight));
  return {_mm256_add_epi32(acc.a, _mm256_madd_epi16(sums.a, w)), _mm256_add_epi32(acc.b, _mm256_madd_epi16(sums.b, w))};
}
HALFBYTE_INLINE U add16(U x, U y) { return {_mm256_add_epi16(x.a, y.a), _mm256_add_epi16(x.b, y.b)}; }
/** Weights unsigned, inputs signed. */
HALFBYTE_INLINE U maddSigned(U w, X x) { return {_mm256_maddubs_epi16(w.a, x.v), _mm256_maddubs_epi16(w.b, x.v)}; }
/** Inputs unsigned, weights signed. */
HALFBYTE_INLINE U maddUnsigned(X x, U w) { return {_mm256_maddubs_epi16(x.v, w.a), _mm256_maddubs_epi16(x.v, w.b)}; }
/** Both signed: |w| · (x with the sign of w). At most 2 · 128 · 127. */
HALFBYTE_INLINE U maddBothSigned(U w, X x) {
  return {_mm256_maddubs_epi16(_mm256_abs_epi8(w.a), _mm256_sign_epi8(x.v, w.a)),
          _mm256_maddubs_epi16(_mm256_abs_epi8(w.b), _mm256_sign_epi8(x.v, w.b))};
}

template <class Codes, bool a16, int R, int B>
struct Products {
  /** Wide codes are summed with 128 taken away where inputs have 8 bits. */
  static constexpr int kCentre = Codes::kWide && !a16 ? 128 : 0;

  /** acc += Σ (code − kCentre) · x over the octets. */
  static HALFBYTE_INLINE void add(const Matrix& w, const uint8_t* const (&blocks)[B], const uint8_t* const (&rows)[R],
                           int paddedK, int octet, int end, size_t ahead, I (&acc)[R][B]) {
    for (; octet < end; octet += Codes::kOctets) step<0>(w, blocks, rows, paddedK, octet, ahead, acc);
  }

  template <int i>
  static HALFBYTE_INLINE void step(const Matrix& w, const uint8_t* const (&blocks)[B], const uint8_t* const (&rows)[R],
                            int paddedK, int octet, size_t ahead, I (&acc)[R][B]) {
    HALFBYTE_UNROLL
    for (int b = 0; b < B; b++) {
      U first, second;
      Codes::template decode<i>(w, blocks[b], octet + i, first, second);
      if constexpr (R > 1) prefetch(blocks[b] + (octet + i) * 64 + ahead);
      HALFBYTE_UNROLL
      for (int r = 0; r < R; r++) {
        const uint8_t* x = rows[r] + (octet + i) * 8;
        acc[r][b] = octetSum(acc[r][b], first, second, x, paddedK);
      }
    }
    if constexpr (i + 1 < Codes::kOctets) step<i + 1>(w, blocks, rows, paddedK, octet, ahead, acc);
  }

  static HALFBYTE_INLINE I octetSum(I acc, U first, U second, const uint8_t* x, int paddedK) {
    const X x0 = four(x), x1 = four(x + 4);
    if constexpr (!a16 && !Codes::kWide) {
      return addPairs(acc, add16(maddSigned(first, x0), maddSigned(second, x1)), 1);
    } else if constexpr (!a16) {
      acc = addPairs(acc, maddBothSigned(first ^ bytes(128), x0), 1);
      return addPairs(acc, maddBothSigned(second ^ bytes(128), x1), 1);
    } else {
      const X low0 = four(x + paddedK), low1 = four(x + paddedK + 4);
      if constexpr (!Codes::kWide) {
        acc = addPairs(acc, add16(maddSigned(first, x0), maddSigned(second, x1)), 256);
        // 2 · 255 · 63 leaves no room for a second addition.
        acc = addPairs(acc, maddUnsigned(low0, first), 1);
        return addPairs(acc, maddUnsigned(low1, second), 1);
      } else {
        const U a = first & nibbleMask(), b = second & nibbleMask();
        const U a16th = shiftRight16<4>(first) & nibbleMask(), b16th = shiftRight16<4>(second) & nibbleMask();
        acc = addPairs(acc, add16(maddSigned(a, x0), maddSigned(b, x1)), 256);
        acc = addPairs(acc, add16(maddUnsigned(low0, a), maddUnsigned(low1, b)), 1);
        acc = addPairs(acc, add16(maddSigned(a16th, x0), maddSigned(b16th, x1)), 4096);
        return addPairs(acc, add16(maddUnsigned(low0, a16th), maddUnsigned(low1, b16th)), 16);
      }
    }
  }
};

}  // namespace halfbyte::HALFBYTE_ISA
