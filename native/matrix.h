#pragma once

#include <cstddef>
#include <cstdint>

namespace halfbyte {

constexpr int kBlockOutputs = 16;

// Numbers as `encodeMatrix` in src/plan/encode.ts has them.
enum class Kind : int32_t { none = -1, f32 = 0, f16 = 1, bf16 = 2, two_level_u8 = 3, two_level_i8 = 4 };

/** A matrix in the packed layout: src/weights/packed-layout.ts. Offsets are bytes inside a block of 16 outputs. */
struct Matrix {
  const uint8_t* bytes;
  bool quantized;
  /** Of the values of a float matrix, or of the scales. */
  Kind kind;
  Kind offset;
  int N, K, blocks;
  size_t blockBytes;
  int bits, groupSize, groups, paddedK;
  bool zeroPerGroup;
  /** Of every group, where there is none per group; counts from the code book's values where there is one. */
  int zero;
  int superSize, highAt, superScaleAt, superOffsetAt, scaleAt, zeroAt, offsetAt;
  bool hasCodeBook;
  int8_t codeBook[16];

  const uint8_t* block(int b) const { return bytes + static_cast<size_t>(b) * blockBytes; }
};

}  // namespace halfbyte
