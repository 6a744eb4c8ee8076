#include "kernels.h"

namespace halfbyte {

#if defined(__x86_64__)
extern const Kernels kAvx512VnniKernels, kAvxVnniKernels, kAvx2Kernels;
#endif
extern const Kernels kScalarKernels;

const std::vector<Candidate>& kernelCandidates() {
  static const std::vector<Candidate> known = [] {
    std::vector<Candidate> list;
    for (const Kernels* kernels : {
#if defined(__x86_64__)
             &kAvx512VnniKernels, &kAvxVnniKernels, &kAvx2Kernels,
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
  constexpr int kMostTileBlocks = 2;
  return matrix.quantized ? static_cast<size_t>(matrix.groups) * 2 * 16 * sizeof(float) * kMostTileBlocks : 0;
}

}  // namespace halfbyte
