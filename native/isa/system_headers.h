#pragma once
// What must be included before a target region begins.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "../arithmetic/half.h"
#include "../kernels.h"
#include "../target.h"
