#include "kernels.h"

#include <algorithm>

namespace halfbyte {

#if defined(__x86_64__)
extern const Kernels kAvx512VnniKernels, kAvxVnniKernels, kAvx2Kernels;
Kernels amxInt8Kernels();
size_t tileScratchBytes(const Matrix& matrix);
#endif
extern const Kernels kScalarKernels;

const std::vector<Candidate>& kernelCandidates() {
  static const std::vector<Candidate> known = [] {
    std::vector<Candidate> list;
#if defined(__x86_64__)
    static const Kernels amxInt8 = amxInt8Kernels();
#endif
    for (const Kernels* kernels : {
#if defined(__x86_64__)
             &amxInt8, &kAvx512VnniKernels, &kAvxVnniKernels, &kAvx2Kernels,
#endif
             &kScalarKernels}) {
      const uint32_t missing = kernels->needs & ~cpuFeatures();
      list.push_back({kernels, missing ? "the CPU or its operating system lacks " + featureNames(missing) : ""});
    }
    return list;
  }();
  return known;
}

size_t linearScratchBytes(const Matrix& matrix) {
  if (!matrix.quantized) return 0;
  constexpr int kMostTileBlocks = 2;
  size_t bytes = static_cast<size_t>(matrix.groups) * 2 * 16 * sizeof(float) * kMostTileBlocks;
#if defined(__x86_64__)
  bytes = std::max(bytes, tileScratchBytes(matrix));
#endif
  return bytes;
}

}  // namespace halfbyte
