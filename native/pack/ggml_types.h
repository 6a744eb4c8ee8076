#pragma once

#include <cstdint>

#include "../matrix.h"

namespace halfbyte {

/** Where the values of output c of a block go: groups stand 16 numbers apart. */
struct Column {
  const Matrix& matrix;
  uint8_t* block;
  int c;

  void scale16(int group, uint16_t bits) const { half(matrix.scaleAt, group) = bits; }
  void offset16(int group, uint16_t bits) const { half(matrix.offsetAt, group) = bits; }
  void scale8(int group, int value) const { block[matrix.scaleAt + group * 16 + c] = static_cast<uint8_t>(value); }
  void offset8(int group, int value) const { block[matrix.offsetAt + group * 16 + c] = static_cast<uint8_t>(value); }
  void superScale(int super, uint16_t bits) const { half(matrix.superScaleAt, super) = bits; }
  void superOffset(int super, uint16_t bits) const { half(matrix.superOffsetAt, super) = bits; }

 private:
  uint16_t& half(int at, int index) const { return reinterpret_cast<uint16_t*>(block + at)[index * 16 + c]; }
};

/** One of ggml's encodings and how its blocks come apart: the same numbers as src/formats/ggml/ gives. */
struct GgmlType {
  int id;
  /** Elements and bytes of a block. */
  int size, bytes;
  /** What the packed matrix must be. */
  int bits, groupSize;
  Kind scale, offset;
  bool codeBook;
  /** Codes of block `index` of a row to `codes`, its scales to the column. Null for plain floats of kind `scale`. */
  void (*decode)(const uint8_t* block, int index, uint8_t* codes, const Column& to);
};

/** Null for a type that is not known here. */
const GgmlType* ggmlType(int id);

}  // namespace halfbyte
