#pragma once

#include <cstdint>
#include <string>

namespace halfbyte {

enum Feature : uint32_t {
  kAvx2 = 1u << 0,
  kF16c = 1u << 1,
  kAvxVnni = 1u << 2,
  kAvx512 = 1u << 3,  // F, BW, DQ, VL
  kAvx512Vnni = 1u << 4,
  kAmxInt8 = 1u << 5,
  kDotProduct = 1u << 6,
  kInt8Matrix = 1u << 7,
};

/** What the CPU has and the operating system lets us use. Asks for AMX permission on the way. */
uint32_t cpuFeatures();

/** The name of a CPU, as it gives it. */
std::string cpuName();

/** Names of the features in `missing`, for messages. */
std::string featureNames(uint32_t missing);

}  // namespace halfbyte
