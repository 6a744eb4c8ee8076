#pragma once
// Every op for one instruction set. Included inside its target region, after its lanes and its integer products.

#include "../arithmetic/functions.h"
#include "../attention/attention.h"
#include "../attention/store.h"
#include "../linear/linear.h"
#include "../rows/gate.h"
#include "../rows/norm.h"
#include "../rows/quantize.h"
#include "../rows/rope.h"

namespace halfbyte::HALFBYTE_ISA {

HALFBYTE_INLINE constexpr Kernels kernelsNamed(const char* name, uint32_t needs) {
  return {name, needs, norm, quantize, rope, gate, add, scale, headGate, store, linear, attention};
}

}  // namespace halfbyte::HALFBYTE_ISA
