#pragma once
// Rotary embedding of the heads of a row in place, arithmetic rule 6. Included inside a target region.

namespace halfbyte::HALFBYTE_ISA {

/** `angles` is f32 [rotary]: cosines, then sines. */
static void rope(float* row, const float* angles, int heads, int headSize, int rotary, bool neighbours) {
  const int half = rotary / 2;
  const float* sines = angles + half;
  for (int h = 0; h < heads; h++, row += headSize) {
    if (neighbours) {
      for (int i = 0; i < half; i++) {
        const float x0 = row[2 * i], x1 = row[2 * i + 1];
        row[2 * i] = x0 * angles[i] - x1 * sines[i];
        row[2 * i + 1] = x1 * angles[i] + x0 * sines[i];
      }
    } else {
      for (int i = 0; i < half; i += 16) {
        const int n = half - i;
        const F x0 = loadFirst(row + i, n), x1 = loadFirst(row + half + i, n);
        const F c = loadFirst(angles + i, n), s = loadFirst(sines + i, n);
        storeFirst(row + i, x0 * c - x1 * s, n);
        storeFirst(row + half + i, x1 * c + x0 * s, n);
      }
    }
  }
}

}  // namespace halfbyte::HALFBYTE_ISA
