#include "system_headers.h"

#if defined(__x86_64__)
#define HALFBYTE_ISA avx_vnni
HALFBYTE_TARGET_BEGIN("avx2,f16c,avxvnni")

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
const Kernels kAvxVnniKernels = avx_vnni::kernelsNamed("avx-vnni", kAvx2 | kF16c | kAvxVnni);
}  // namespace halfbyte
#endif
