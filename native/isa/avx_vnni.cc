#include "system_headers.h"

#if defined(__x86_64__)
#define HALFBYTE_ISA avx_vnni
#if defined(HALFBYTE_EMULATE)
HALFBYTE_TARGET_BEGIN("avx2,f16c,avx512f,avx512vl,avx512vnni")
#else
HALFBYTE_TARGET_BEGIN("avx2,f16c,avxvnni")
#endif

namespace halfbyte::avx_vnni {
// 4 rows are 8 integer registers; codes and inputs take 6 of the other 8.
constexpr int kTileRows = 4, kTileBlocks = 1, kOneRowBlocks = 2;
}  // namespace halfbyte::avx_vnni

#include "../vectors/avx2.h"
#include "../linear/bytes_avx2.h"
#include "../linear/bytes_avx_vnni.h"
#include "../linear/codes.h"
#include "../linear/dot_products.h"
#include "all_ops.h"

HALFBYTE_TARGET_END

namespace halfbyte {
extern const Kernels kAvxVnniKernels;
#if defined(HALFBYTE_EMULATE)
constexpr uint32_t kNeeded = kAvx2 | kF16c | kAvx512Vnni;
#else
constexpr uint32_t kNeeded = kAvx2 | kF16c | kAvxVnni;
#endif
const Kernels kAvxVnniKernels = avx_vnni::kernelsNamed("avx-vnni", kNeeded);
}  // namespace halfbyte
#endif
