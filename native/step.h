#pragma once

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "memory.h"
#include "plan.h"
#include "pool.h"

namespace halfbyte {

/** Rows of one sequence in a step. */
struct Segment {
  int firstRow, rows, position;
  /** Its cache blocks begin here in `StepInput::blocks`. */
  size_t blocksAt;
};

struct StepInput {
  std::vector<int32_t> tokenIds;
  std::vector<Segment> segments;
  std::vector<int32_t> blocks;
  /** The rows that go on to the end. */
  std::vector<int32_t> logitRows;
  /** Rows of logits to compute: all of those, or none. */
  int64_t logitCount = 0;
  /** Cosines and sines, for each rotary table [tokens][rotary]. */
  std::vector<float> angles;
};

/** What a step works on; all of it stays where it is while one runs. */
struct StepMemory {
  std::vector<Op> ops;
  std::vector<Matrix> matrices;
  /** Each padded with zeros to 16 numbers. */
  std::vector<std::vector<float>> vectors;
  std::vector<int> ropeTables;
  CacheShape cacheShape;
  std::shared_ptr<Region> weights, arena;
  Region cache;
  const Kernels* kernels;
};

/** One step of a plan as a job of the pool. */
class Step : public Job {
 public:
  Step(const StepMemory& memory, int threads);

  /** Throws std::bad_alloc. `done(cancelled)` is called on a thread of the pool. */
  void prepare(StepInput input, std::function<void(bool)> done);

  uint32_t phases() const override { return static_cast<uint32_t>(phases_.size()); }
  uint32_t items(uint32_t phase) const override { return phases_[phase].items; }
  void run(uint32_t phase, uint32_t item, int thread) override;
  void finished(bool cancelled) override { done_(cancelled); }

 private:
  /** Ops that need not wait for each other. */
  struct Phase {
    /** Row by row, in order, by whoever has claimed the rows. */
    std::array<std::vector<const Op*>, kRowSpaces> rowOps;
    /** Linears and attentions: shared out in items of their own. */
    std::vector<const Op*> sharedOps;
    uint32_t items = 0;
  };
  /** Query rows that attend together. */
  struct RowTile {
    const Segment* segment;
    int firstRow, rows;
  };

  int rowCount(RowSpace space) const;
  Rows rowsOf(const Buffer& b) const {
    return b.present() ? Rows{memory_.arena->data() + b.offset, static_cast<size_t>(b.stride)} : Rows{nullptr, 0};
  }
  uint32_t rowItems(int rows) const;
  int blocksPerItem(const LinearOp& op, int M) const;
  int headsPerItem(const AttentionOp& op) const;
  uint32_t sharedItems(const Op& op) const;

  void runRows(const std::vector<const Op*>& ops, int first, int end) const;
  void runRow(const Op& op, int m) const;
  void runLinear(const Op& op, uint32_t item, float* scratch) const;
  void runAttention(const AttentionOp& op, uint32_t item, float* scratch) const;

  const StepMemory& memory_;
  const int threads_;
  std::vector<Phase> phases_;
  StepInput input_;
  std::vector<RowTile> tiles_;
  std::vector<int> positions_;
  std::vector<const Segment*> segmentOfRow_;
  /** For each rotary table, where its angles begin. */
  std::vector<size_t> anglesAt_;
  std::vector<std::vector<float>> scratch_;
  std::function<void(bool)> done_;
};

}  // namespace halfbyte
