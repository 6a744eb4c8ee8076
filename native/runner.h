#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pack/pack.h"
#include "step.h"

namespace halfbyte {

struct RunnerShape {
  std::span<const int32_t> ops;
  /** Records of `kMatrixWords` words. */
  std::span<const int32_t> matrices;
  std::vector<std::span<const float>> vectors;
  std::vector<int> ropeTables;
  CacheShape cache;
  int64_t arenaBytes;
  int maxRows, maxLogitRows;
  bool a16;
  const Kernels* kernels;
  int threads;
};

/** A plan with its memory and threads. All calls come from one thread; a step runs on others. */
class Runner {
 public:
  /** Throws std::invalid_argument for a plan that does not fit itself, std::bad_alloc, std::system_error for threads. */
  explicit Runner(const RunnerShape& shape);

  /** Zeroed memory of a packed matrix, to be filled before the first step. */
  std::span<uint8_t> matrixBytes(size_t i);
  const std::shared_ptr<Region>& weights() const { return memory_.weights; }
  const std::shared_ptr<Region>& arena() const { return memory_.arena; }
  size_t cacheBytes() const { return memory_.cache.size(); }
  int threads() const { return pool_.threads(); }

  /**
   * Packs rows of ggml blocks into a matrix. Throws std::invalid_argument for what does not fit, std::logic_error while
   * something runs. `bytes` must live, and `done` is called, as with a step.
   */
  void pack(size_t matrix, int ggmlType, int64_t firstRow, int64_t rows, std::span<const uint8_t> bytes,
            std::function<void(bool)> done);
  /** Part of the arena. Throws std::invalid_argument outside it, std::logic_error while something runs. */
  std::span<const uint8_t> read(int64_t offset, int64_t bytes) const;
  /** Throws std::bad_alloc; std::logic_error while something runs. */
  void ensureBlocks(int64_t count);
  /**
   * Throws std::invalid_argument for what does not fit the plan, std::logic_error while something runs.
   * `done(cancelled)` is called on another thread.
   */
  void step(StepInput input, std::function<void(bool)> done);
  /** A step under way ends before its next ops, and `done` says so. */
  void cancel() { pool_.cancel(); }
  /** To be called when `done` has been seen. */
  void ended() { running_ = false; }

 private:
  void throwIfRunning() const;
  void check(const StepInput& input) const;

  StepMemory memory_;
  int maxRows_, maxLogitRows_;
  int64_t blockCount_ = 0;
  bool running_ = false;
  std::unique_ptr<Step> step_;
  PackJob pack_;
  // Last, so that its threads are gone before what they use.
  Pool pool_;
};

}  // namespace halfbyte
