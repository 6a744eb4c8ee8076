#pragma once
// What products with quantised matrices share: scales and offsets, sums of codes, and the last steps of an output.
// Included inside a target region.

namespace halfbyte::HALFBYTE_ISA {

/** Scales or offsets as they stand in a block. */
struct StoredValues {
  Kind kind;
  const uint8_t* values;
  const uint16_t* supers;

  HALFBYTE_INLINE F at(int group, int super) const {
    switch (kind) {
      case Kind::f16:
        return loadF16(reinterpret_cast<const uint16_t*>(values) + group * 16);
      case Kind::bf16:
        return loadBf16(reinterpret_cast<const uint16_t*>(values) + group * 16);
      case Kind::two_level_u8:
        return loadF16(supers + super * 16) * toFloat(loadU8(values + group * 16));
      case Kind::two_level_i8:
        return loadF16(supers + super * 16) * toFloat(loadI8(values + group * 16));
      default:
        return load(reinterpret_cast<const float*>(values) + group * 16);
    }
  }
};

/** The same as f32, converted once for many rows. */
struct ConvertedValues {
  const float* values;
  HALFBYTE_INLINE F at(int group, int) const { return load(values + group * 16); }
};

HALFBYTE_INLINE StoredValues storedScales(const Matrix& w, const uint8_t* block) {
  return {w.kind, block + w.scaleAt, reinterpret_cast<const uint16_t*>(block + w.superScaleAt)};
}
HALFBYTE_INLINE StoredValues storedOffsets(const Matrix& w, const uint8_t* block) {
  return {w.offset, block + w.offsetAt, reinterpret_cast<const uint16_t*>(block + w.superOffsetAt)};
}
/** A two-level offset is stored by its magnitude and subtracted. */
HALFBYTE_INLINE bool subtracted(Kind offset) { return offset >= Kind::two_level_u8; }

static void convertValues(const Matrix& w, StoredValues from, bool negate, float* to) {
  const int perSuper = w.superSize ? w.superSize / w.groupSize : 1;
  for (int g = 0; g < w.groups; g++) {
    const F value = from.at(g, g / perSuper);
    store(to + g * 16, negate ? negative(value) : value);
  }
}

/** Counts runs, and the groups of different sizes that they fall in. */
struct Counter {
  int every, left, index = 0;
  explicit Counter(int every) : every(every), left(every) {}
  HALFBYTE_INLINE void next() {
    if (--left == 0) {
      left = every;
      index++;
    }
  }
};

HALFBYTE_INLINE int ratio(int whole, int part) { return (whole + part - 1) / part; }

__attribute__((noinline)) static int32_t longRunSum(const QuantizedShape& shape, const int32_t* sums, int j, int perRun) {
  const int count = ratio(shape.K, shape.run), end = (j + 1) * perRun < count ? (j + 1) * perRun : count;
  int32_t total = 0;
  for (int i = j * perRun; i < end; i++) total += sums[i];
  return total;
}

/** Sum of the codes of run j: whole stored sums, or several of them where another matrix has shorter runs. */
HALFBYTE_INLINE int32_t runSum(const QuantizedShape& shape, const uint8_t* row, int j, int perRun) {
  const int32_t* sums = reinterpret_cast<const int32_t*>(row + shape.sumAt);
  if (__builtin_expect(perRun == 1, 1)) return sums[j];
  return longRunSum(shape, sums, j, perRun);
}

HALFBYTE_INLINE void finish(const LinearCall& c, int m, int block, F y) {
  const size_t n = static_cast<size_t>(block) * 16;
  if (c.bias) y = y + load(c.bias + n);
  if (c.residual.at) y = load(c.residual.f32(m) + n) + y;
  store(c.out.f32(m) + n, y);
}

}  // namespace halfbyte::HALFBYTE_ISA
