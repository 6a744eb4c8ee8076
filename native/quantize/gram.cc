#include "gram.h"

#include <vector>

#include "../cpu.h"
#include "../isa/system_headers.h"

#define HALFBYTE_ISA gram_baseline
namespace halfbyte::gram_baseline {
typedef float Vector __attribute__((vector_size(16)));
}
#include "gram_tiles.h"
#undef HALFBYTE_ISA

#if defined(__x86_64__)
#define HALFBYTE_ISA gram_avx2
HALFBYTE_TARGET_BEGIN("avx2")
namespace halfbyte::gram_avx2 {
typedef float Vector __attribute__((vector_size(32)));
}
#include "gram_tiles.h"
HALFBYTE_TARGET_END
#undef HALFBYTE_ISA

#define HALFBYTE_ISA gram_avx512
HALFBYTE_TARGET_BEGIN("avx2,avx512f,avx512bw,avx512dq,avx512vl")
namespace halfbyte::gram_avx512 {
typedef float Vector __attribute__((vector_size(64)));
}
#include "gram_tiles.h"
HALFBYTE_TARGET_END
#undef HALFBYTE_ISA
#endif

namespace halfbyte {
namespace {

using AddGram = void (*)(const float*, int, int, float*, int, int, float*);

AddGram chosen() {
#if defined(__x86_64__)
  const uint32_t features = cpuFeatures();
  if (features & kAvx512) return gram_avx512::addGram;
  if (features & kAvx2) return gram_avx2::addGram;
#endif
  return gram_baseline::addGram;
}

/** addGram(memory, x, rows, stride, gram, first, end): byte offsets in `memory`, which threads share. */
napi_value addGram(napi_env env, napi_callback_info info) {
  static const AddGram add = chosen();
  size_t count = 7;
  napi_value arguments[7];
  uint8_t* memory = nullptr;
  size_t bytes = 0;
  double numbers[6];
  bool good = napi_get_cb_info(env, info, &count, arguments, nullptr, nullptr) == napi_ok && count == 7 &&
              napi_get_typedarray_info(env, arguments[0], nullptr, &bytes, reinterpret_cast<void**>(&memory), nullptr,
                                       nullptr) == napi_ok;
  for (int i = 0; i < 6; i++) good = good && napi_get_value_double(env, arguments[i + 1], &numbers[i]) == napi_ok;
  const auto [x, rows, stride, gram, first, end] = numbers;
  good = good && rows >= 0 && stride > 0 && first >= 0 && end <= stride && x >= 0 && gram >= 0 &&
         x + rows * stride * 4 <= double(bytes) && gram + stride * stride * 4 <= double(bytes);
  if (!good) {
    napi_throw_range_error(env, "ERR_ARGUMENT", "addGram: not inside the memory");
    return nullptr;
  }
  try {
    // Room for the columns of the widest tile.
    std::vector<float> room(size_t(rows) * 32);
    add(reinterpret_cast<const float*>(memory + size_t(x)), int(rows), int(stride),
        reinterpret_cast<float*>(memory + size_t(gram)), int(first), int(end), room.data());
  } catch (const std::bad_alloc&) {
    napi_throw_error(env, "ERR_MEMORY", "addGram: no memory");
  }
  return nullptr;
}

}  // namespace

void defineGram(napi_env env, napi_value exports) {
  napi_value function;
  if (napi_create_function(env, "addGram", NAPI_AUTO_LENGTH, addGram, nullptr, &function) == napi_ok)
    napi_set_named_property(env, exports, "addGram", function);
}

}  // namespace halfbyte
