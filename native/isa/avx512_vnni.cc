#include "system_headers.h"

#if defined(__x86_64__)
#define HALFBYTE_ISA avx512_vnni
HALFBYTE_TARGET_BEGIN("avx2,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")

namespace halfbyte::avx512_vnni {
// 4 rows × 2 blocks are 8 integer and 8 float sums; A16 has 8 more. With 8 rows they spill (bench/lab/native-linear.md).
constexpr int kTileRows = 4, kTileBlocks = 2, kOneRowBlocks = 4;
}  // namespace halfbyte::avx512_vnni

#include "../vectors/avx512.h"
#include "../linear/bytes_avx512.h"
#include "../linear/codes.h"
#include "../linear/dot_products.h"
#include "all_ops.h"

HALFBYTE_TARGET_END

namespace halfbyte {
extern const Kernels kAvx512VnniKernels;
const Kernels kAvx512VnniKernels = avx512_vnni::kernelsNamed("avx512-vnni", kAvx2 | kF16c | kAvx512 | kAvx512Vnni);
}  // namespace halfbyte
#endif
