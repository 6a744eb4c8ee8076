#pragma once

#include <functional>
#include <span>
#include <vector>

#include "../pool.h"
#include "ggml_types.h"

namespace halfbyte {

/** Rows of ggml blocks that become blocks of a packed matrix. */
struct PackRequest {
  const Matrix* matrix;
  /** Of the whole matrix. */
  uint8_t* target;
  const GgmlType* type;
  /** A multiple of 16. */
  int firstRow, rows;
  std::span<const uint8_t> bytes;
};

/** Throws std::invalid_argument where type, rows or bytes do not fit the matrix. */
void checkPackRequest(const PackRequest& request);

/** Packs 16 outputs an item. */
class PackJob : public Job {
 public:
  /** `done` is called on a thread of the pool. */
  void prepare(const PackRequest& request, int threads, std::function<void(bool)> done);

  uint32_t phases() const override { return 1; }
  uint32_t items(uint32_t) const override { return static_cast<uint32_t>((request_.rows + 15) / 16); }
  void run(uint32_t phase, uint32_t item, int thread) override;
  void finished(bool cancelled) override { done_(cancelled); }

 private:
  PackRequest request_{};
  /** Codes of one row, for each thread; zeros past K. */
  std::vector<std::vector<uint8_t>> codes_;
  std::function<void(bool)> done_;
};

}  // namespace halfbyte
