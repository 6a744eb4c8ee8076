#pragma once

#include <cstddef>
#include <cstdint>

namespace halfbyte {

/**
 * Zeroed memory straight from the operating system, in pages of 2 MiB where it has them: weights read a fifth faster
 * from those than from 4 KiB pages.
 */
class Region {
 public:
  Region() = default;
  /** Throws std::bad_alloc. */
  explicit Region(size_t bytes);
  Region(Region&& other) noexcept;
  Region& operator=(Region&& other) noexcept;
  ~Region();

  /** Makes it larger; contents stay, addresses may change. Throws std::bad_alloc and is then as before. */
  void grow(size_t bytes);

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  /** What the system gave: `data_` starts at the first 2 MiB boundary in it. */
  void* mapping_ = nullptr;
  size_t mappedBytes_ = 0;
};

}  // namespace halfbyte
