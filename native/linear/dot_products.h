#pragma once
// Integer sums for instruction sets with a dot product of four bytes. Included inside a target region, after the file
// that defines `dotSigned` (weights unsigned, inputs signed) and `dotUnsigned` (inputs unsigned, weights signed).

namespace halfbyte::HALFBYTE_ISA {

template <class Codes, bool a16, int R, int B>
struct Products {
  /** Sums are of the codes as they are. */
  static constexpr int kCentre = 0;
  /** Few sums side by side: two for each, so that the latency of an instruction is hidden. */
  static constexpr bool kSplit = R * B < 8 && !a16;

  struct Parts {
    I high[R][B];
    I low[a16 || kSplit ? R : 1][B];
    I lowSum[R];
  };

  /** acc += Σ code · x over the octets. */
  static HALFBYTE_INLINE void add(const Matrix& w, const uint8_t* const (&blocks)[B], const uint8_t* const (&rows)[R],
                           int paddedK, int octet, int end, size_t ahead, I (&acc)[R][B]) {
    Parts parts;
    HALFBYTE_UNROLL
    for (int r = 0; r < R; r++) {
      parts.lowSum[r] = setI(0);
      HALFBYTE_UNROLL
      for (int b = 0; b < B; b++) {
        parts.high[r][b] = a16 ? setI(0) : acc[r][b];
        if constexpr (a16 || kSplit) parts.low[r][b] = setI(0);
      }
    }
    for (; octet < end; octet += Codes::kOctets) step<0>(w, blocks, rows, paddedK, octet, ahead, parts);
    HALFBYTE_UNROLL
    for (int r = 0; r < R; r++) {
      HALFBYTE_UNROLL
      for (int b = 0; b < B; b++) {
        if constexpr (a16) {
          acc[r][b] = acc[r][b] + shiftLeft<8>(parts.high[r][b]) + parts.low[r][b];
          if constexpr (Codes::kWide) acc[r][b] = acc[r][b] + shiftLeft<7>(parts.lowSum[r]);
        } else if constexpr (kSplit) {
          acc[r][b] = parts.high[r][b] + parts.low[r][b];
        } else {
          acc[r][b] = parts.high[r][b];
        }
      }
    }
  }

  template <int i>
  static HALFBYTE_INLINE void step(const Matrix& w, const uint8_t* const (&blocks)[B], const uint8_t* const (&rows)[R],
                            int paddedK, int octet, size_t ahead, Parts& parts) {
    U first[B], second[B];
    HALFBYTE_UNROLL
    for (int b = 0; b < B; b++) {
      Codes::template decode<i>(w, blocks[b], octet + i, first[b], second[b]);
      if constexpr (R > 1) prefetch(blocks[b] + (octet + i) * 64 + ahead);
    }
    HALFBYTE_UNROLL
    for (int r = 0; r < R; r++) {
      const uint8_t* x = rows[r] + (octet + i) * 8;
      const X x0 = four(x), x1 = four(x + 4);
      if constexpr (a16) {
        const X low0 = four(x + paddedK), low1 = four(x + paddedK + 4);
        if constexpr (Codes::kWide)
          parts.lowSum[r] = dotUnsigned(dotUnsigned(parts.lowSum[r], low0, bytes(1)), low1, bytes(1));
        HALFBYTE_UNROLL
        for (int b = 0; b < B; b++) {
          parts.high[r][b] = dotSigned(dotSigned(parts.high[r][b], first[b], x0), second[b], x1);
          // Bytes above 127 would count as negative: 128 is taken from them here and added back with the sum.
          const U signed0 = Codes::kWide ? first[b] ^ bytes(128) : first[b];
          const U signed1 = Codes::kWide ? second[b] ^ bytes(128) : second[b];
          parts.low[r][b] = dotUnsigned(dotUnsigned(parts.low[r][b], low0, signed0), low1, signed1);
        }
      } else {
        HALFBYTE_UNROLL
        for (int b = 0; b < B; b++) {
          parts.high[r][b] = dotSigned(parts.high[r][b], first[b], x0);
          if constexpr (kSplit)
            parts.low[r][b] = dotSigned(parts.low[r][b], second[b], x1);
          else
            parts.high[r][b] = dotSigned(parts.high[r][b], second[b], x1);
        }
      }
    }
    if constexpr (i + 1 < Codes::kOctets) step<i + 1>(w, blocks, rows, paddedK, octet, ahead, parts);
  }
};

}  // namespace halfbyte::HALFBYTE_ISA
