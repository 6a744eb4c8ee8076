#include "memory.h"

#include <sys/mman.h>

#include <cstring>
#include <new>
#include <utility>

namespace halfbyte {

namespace {
constexpr size_t kHugePage = 2 << 20;
// Kernels read whole registers: up to this much past the last number.
constexpr size_t kSlack = 256;
}  // namespace

Region::Region(size_t bytes) : size_(bytes) {
  if (bytes > SIZE_MAX / 2) throw std::bad_alloc();
  const bool huge = bytes >= kHugePage;
  mappedBytes_ = bytes + kSlack + (huge ? kHugePage : 0);
  mapping_ = mmap(nullptr, mappedBytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<uint8_t*>(mapping_);
  if (!huge) return;
  data_ = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(mapping_) + kHugePage - 1) & ~(kHugePage - 1));
#if defined(MADV_HUGEPAGE)
  // Advice: where the system has no huge pages, small ones serve.
  (void)madvise(data_, bytes + kSlack, MADV_HUGEPAGE);
#endif
}

Region::Region(Region&& other) noexcept { *this = std::move(other); }

Region& Region::operator=(Region&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapping_, other.mapping_);
  std::swap(mappedBytes_, other.mappedBytes_);
  return *this;
}

Region::~Region() {
  if (mapping_) munmap(mapping_, mappedBytes_);
}

void Region::grow(size_t bytes) {
  if (bytes <= size_) return;
  Region larger(bytes);
  if (size_) std::memcpy(larger.data_, data_, size_);
  *this = std::move(larger);
}

}  // namespace halfbyte
