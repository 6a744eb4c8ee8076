#define HALFBYTE_SCALAR
#include "system_headers.h"

#define HALFBYTE_ISA scalar

namespace halfbyte::scalar {
constexpr int kTileRows = 2, kTileBlocks = 1, kOneRowBlocks = 1;
}  // namespace halfbyte::scalar

#include "../vectors/scalar.h"
#include "../linear/bytes_scalar.h"
#include "../linear/codes.h"
#include "../linear/dot_products.h"
#include "all_ops.h"

namespace halfbyte {
extern const Kernels kScalarKernels;
const Kernels kScalarKernels = scalar::kernelsNamed("scalar", 0);
}  // namespace halfbyte
