#include "system_headers.h"

#if defined(__x86_64__)
#define HALFBYTE_ISA avx2
HALFBYTE_TARGET_BEGIN("avx2,f16c")

namespace halfbyte::avx2 {
// 4 rows are 8 integer registers; codes, inputs and products take the other 8.
constexpr int kTileRows = 4, kTileBlocks = 1, kOneRowBlocks = 2;
}  // namespace halfbyte::avx2

#include "../vectors/avx2.h"
#include "../linear/bytes_avx2.h"
#include "../linear/codes.h"
#include "../linear/products_avx2.h"
#include "all_ops.h"

HALFBYTE_TARGET_END

namespace halfbyte {
extern const Kernels kAvx2Kernels;
const Kernels kAvx2Kernels = avx2::kernelsNamed("avx2", kAvx2 | kF16c);
}  // namespace halfbyte
#endif
