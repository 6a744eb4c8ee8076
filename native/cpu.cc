#include "cpu.h"

#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace halfbyte {

#if defined(__x86_64__)
namespace {

struct Registers {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(uint32_t leaf, uint32_t subleaf) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

uint64_t enabledState() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

bool has(uint32_t word, int bit) { return (word >> bit) & 1; }

/** Linux hands out the 8 KiB of tile registers only to processes that ask. */
bool mayUseTiles() {
#if defined(__linux__)
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

}  // namespace

uint32_t cpuFeatures() {
  static const uint32_t known = [] {
    uint32_t features = 0;
    if (__get_cpuid_max(0, nullptr) < 7) return features;
    const Registers one = cpuid(1, 0), seven = cpuid(7, 0), sevenOne = cpuid(7, 1);
    if (!has(one.ecx, 27)) return features;  // OSXSAVE: without it XCR0 cannot be read
    const uint64_t state = enabledState();
    constexpr uint64_t kYmm = 0x6, kZmm = 0xe6, kTiles = 0x60000;
    if ((state & kYmm) == kYmm && has(one.ecx, 28) && has(seven.ebx, 5)) {
      features |= kAvx2;
      if (has(one.ecx, 29)) features |= kF16c;
      if (seven.eax >= 1 && has(sevenOne.eax, 4)) features |= kAvxVnni;
    }
    if ((features & kAvx2) && (state & kZmm) == kZmm && has(seven.ebx, 16) && has(seven.ebx, 17) &&
        has(seven.ebx, 30) && has(seven.ebx, 31)) {
      features |= kAvx512;
      if (has(seven.ecx, 11)) features |= kAvx512Vnni;
    }
    if ((state & kTiles) == kTiles && has(seven.edx, 24) && has(seven.edx, 25) && mayUseTiles()) features |= kAmxInt8;
    return features;
  }();
  return known;
}

std::string cpuName() {
  char name[49] = {};
  if (__get_cpuid_max(0x80000000, nullptr) < 0x80000004) return "CPU";
  for (uint32_t i = 0; i < 3; i++) {
    const Registers r = cpuid(0x80000002 + i, 0);
    std::memcpy(name + 16 * i, &r, 16);
  }
  std::string text(name);
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}
#else

uint32_t cpuFeatures() {
  uint32_t features = 0;
#if defined(__aarch64__) && defined(__linux__)
  constexpr unsigned long kAsimdDp = 1ul << 20, kI8mm = 1ul << 13;
  if (getauxval(AT_HWCAP) & kAsimdDp) features |= kDotProduct;
  if (getauxval(AT_HWCAP2) & kI8mm) features |= kInt8Matrix;
#elif defined(__aarch64__) && defined(__APPLE__)
  features |= kDotProduct;
#endif
  return features;
}

std::string cpuName() { return "CPU"; }
#endif

std::string featureNames(uint32_t missing) {
  static constexpr struct {
    Feature feature;
    const char* name;
  } kNames[] = {{kAvx2, "avx2"},          {kF16c, "f16c"},        {kAvxVnni, "avx_vnni"},     {kAvx512, "avx512"},
                {kAvx512Vnni, "avx512_vnni"}, {kAmxInt8, "amx_int8"}, {kDotProduct, "dot product"}, {kInt8Matrix, "i8mm"}};
  std::string text;
  for (const auto& [feature, name] : kNames)
    if (missing & feature) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

}  // namespace halfbyte
