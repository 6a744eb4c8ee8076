#pragma once

#include "../matrix.h"

namespace halfbyte {

/** Row n of a packed matrix as f32 [K], times `multiplier`. */
void embedRow(const Matrix& matrix, int n, float multiplier, float* out);

}  // namespace halfbyte
