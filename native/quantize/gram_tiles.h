// XᵀX by tiles of 4 × kColumns. The including file names the namespace in HALFBYTE_ISA and gives `Vector`, f32s that
// products and sums work on lane by lane.

namespace halfbyte::HALFBYTE_ISA {

constexpr int kLanes = sizeof(Vector) / sizeof(float);
/** 4 × 2 sums of one vector each hide the latency of an addition. */
constexpr int kColumns = 2 * kLanes;
constexpr int kRows = 4;

HALFBYTE_INLINE Vector load(const float* from) {
  Vector out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

HALFBYTE_INLINE void addTo(float* to, Vector x) {
  const Vector sum = load(to) + x;
  std::memcpy(to, &sum, sizeof sum);
}

/** out[4][kColumns] += Σ left[row][4] · right[row][kColumns], rows ascending, from 0. */
inline void tile(const float* left, size_t leftStride, const float* right, int rows, float* out, size_t outStride) {
  Vector sums[kRows][2] = {};
  for (int row = 0; row < rows; row++, left += leftStride, right += kColumns) {
    const Vector x0 = load(right), x1 = load(right + kLanes);
    HALFBYTE_UNROLL for (int i = 0; i < kRows; i++) {
      sums[i][0] = sums[i][0] + left[i] * x0;
      sums[i][1] = sums[i][1] + left[i] * x1;
    }
  }
  for (int i = 0; i < kRows; i++) {
    addTo(out + i * outStride, sums[i][0]);
    addTo(out + i * outStride + kLanes, sums[i][1]);
  }
}

/** Columns past the last whole tile, one by one. */
inline void column(const float* left, const float* right, int rows, size_t stride, float* out) {
  float sum = 0;
  for (int row = 0; row < rows; row++) sum = sum + left[row * stride] * right[row * stride];
  *out = *out + sum;
}

void addGram(const float* x, int rows, int stride, float* gram, int first, int end, float* room) {
  int j = first / kColumns * kColumns;
  for (; j + kColumns <= stride; j += kColumns) {
    // The columns of a tile stand together while all rows of the result take them.
    for (int row = 0; row < rows; row++) std::memcpy(room + row * kColumns, x + row * stride + j, kColumns * sizeof(float));
    for (int i = first; i < end && i < j + kColumns; i += kRows)
      tile(x + i, stride, room, rows, gram + size_t(i) * stride + j, stride);
  }
  for (; j < stride; j++)
    for (int i = first; i < end && i <= j; i++) column(x + i, x + j, rows, stride, gram + size_t(i) * stride + j);
}

}  // namespace halfbyte::HALFBYTE_ISA
