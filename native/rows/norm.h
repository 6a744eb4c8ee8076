#pragma once
// RMS norm, arithmetic rule 5, with the sum of squares by rule 2. Included inside a target region.

namespace halfbyte::HALFBYTE_ISA {

static void norm(const NormRow& row) {
  const int size = row.size, whole = size & ~15;
  F squares = setF(0.0f);
  for (int i = 0; i < whole; i += 16) {
    const F x = load(row.x + i);
    squares = squares + x * x;
  }
  if (whole < size) {
    const F x = loadFirst(row.x + whole, size - whole);
    squares = squares + x * x;
  }
  const float mean = fold(squares) / static_cast<float>(size);
  const F r = setF(1.0f / __builtin_sqrtf(mean + row.eps));
  for (int i = 0; i < size; i += 16) {
    const int n = size - i;
    F y = (loadFirst(row.x + i, n) * r) * loadFirst(row.weight + i, n);
    if (row.residual) y = loadFirst(row.residual + i, n) + y;
    storeFirst(row.y + i, y, n);
  }
}

}  // namespace halfbyte::HALFBYTE_ISA
