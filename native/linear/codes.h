#pragma once
// Codes of the packed layout as registers of unsigned bytes. Included inside a target region, after a file that defines
// the 64-byte register `U` (byte 4c + i: output c, input i of four) and its operations.

namespace halfbyte::HALFBYTE_ISA {

/** How the codes of a matrix come out of its planes. `kWide`: bytes above 127 occur. */
struct Nibbles {
  static constexpr int kOctets = 1;
  static constexpr bool kWide = false;
  template <int>
  static HALFBYTE_INLINE void decode(const Matrix&, const uint8_t* block, size_t octet, U& first, U& second) {
    const U v = loadU(block + octet * 64);
    first = v & nibbleMask();
    second = shiftRight16<4>(v) & nibbleMask();
  }
};

struct FiveBits {
  static constexpr int kOctets = 4;
  static constexpr bool kWide = false;
  template <int i>
  static HALFBYTE_INLINE void decode(const Matrix& w, const uint8_t* block, size_t octet, U& first, U& second) {
    Nibbles::decode<0>(w, block, octet, first, second);
    const U high = loadU(block + w.highAt + octet / 4 * 64), bit = bytes(16);
    first = first | (moveBits16<4 - 2 * i>(high) & bit);
    second = second | (moveBits16<3 - 2 * i>(high) & bit);
  }
};

struct SixBits {
  static constexpr int kOctets = 2;
  static constexpr bool kWide = false;
  template <int i>
  static HALFBYTE_INLINE void decode(const Matrix& w, const uint8_t* block, size_t octet, U& first, U& second) {
    Nibbles::decode<0>(w, block, octet, first, second);
    const U high = loadU(block + w.highAt + octet / 2 * 64), two = bytes(48);
    first = first | (moveBits16<4 - 4 * i>(high) & two);
    second = second | (moveBits16<2 - 4 * i>(high) & two);
  }
};

struct EightBits {
  static constexpr int kOctets = 1;
  static constexpr bool kWide = true;
  template <int>
  static HALFBYTE_INLINE void decode(const Matrix& w, const uint8_t* block, size_t octet, U& first, U& second) {
    const U low = loadU(block + octet * 64), high = loadU(block + w.highAt + octet * 64);
    first = (low & nibbleMask()) | moveBits16<4>(high & nibbleMask());
    second = (shiftRight16<4>(low) & nibbleMask()) | (high & bytes(0xf0));
  }
};

/** Nibbles that stand for signed values: those values + 128. */
struct CodeBook {
  static constexpr int kOctets = 1;
  static constexpr bool kWide = true;
  template <int>
  static HALFBYTE_INLINE void decode(const Matrix& w, const uint8_t* block, size_t octet, U& first, U& second) {
    const U book = repeat16(w.codeBook) ^ bytes(128);
    const U v = loadU(block + octet * 64);
    first = lookUp(book, v & nibbleMask());
    second = lookUp(book, shiftRight16<4>(v) & nibbleMask());
  }
};

}  // namespace halfbyte::HALFBYTE_ISA
