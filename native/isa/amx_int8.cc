#include "system_headers.h"

#if defined(__x86_64__)
#define HALFBYTE_ISA amx_int8
#if defined(HALFBYTE_EMULATE)
HALFBYTE_TARGET_BEGIN("avx2,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")
#else
HALFBYTE_TARGET_BEGIN("avx2,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,amx-tile,amx-int8")
#endif

#include "../vectors/avx512.h"
#include "../linear/bytes_avx512.h"
#include "../linear/codes.h"
#include "../arithmetic/functions.h"
#include "../linear/group_values.h"
#include "../linear/tiles_amx.h"
#include "../linear/linear_amx.h"

HALFBYTE_TARGET_END

namespace halfbyte {
extern const Kernels kAvx512VnniKernels;

namespace {

/** Fewer rows leave most of a tile empty: the dot products of AVX-512 are as fast then, and unpack nothing. */
constexpr int kLeastRows = 5;

void linear(const LinearCall& c) {
  if (c.M < kLeastRows || !c.matrix->quantized) return kAvx512VnniKernels.linear(c);
  amx_int8::tileLinear(c);
}

}  // namespace

Kernels amxInt8Kernels() {
  Kernels kernels = kAvx512VnniKernels;
  kernels.name = "amx-int8";
#if !defined(HALFBYTE_EMULATE)
  kernels.needs |= kAmxInt8;
#endif
  kernels.linear = linear;
  return kernels;
}

size_t tileScratchBytes(const Matrix& matrix) { return amx_int8::TileScratch::bytes(matrix); }

}  // namespace halfbyte
#endif
