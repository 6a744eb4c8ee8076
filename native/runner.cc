#include "runner.h"

#include <stdexcept>

namespace halfbyte {

namespace {

constexpr size_t kMatrixAlign = 4096;

size_t roundUp(size_t x, size_t unit) { return (x + unit - 1) / unit * unit; }

size_t matrixSize(const Matrix& m) { return static_cast<size_t>(m.blocks) * m.blockBytes; }

void expect(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

}  // namespace

Runner::Runner(const RunnerShape& shape)
    : maxRows_(shape.maxRows), maxLogitRows_(shape.maxLogitRows), pool_(shape.threads) {
  expect(shape.matrices.size() % kMatrixWords == 0, "matrix records");
  expect(shape.maxRows >= 1 && shape.maxLogitRows >= 0 && shape.arenaBytes >= 0, "plan sizes");
  const CacheShape& cache = shape.cache;
  const size_t headNumbers = static_cast<size_t>(cache.headSize) * 16;
  expect(cache.layers >= 0 && cache.kvHeads >= 1 && cache.headSize >= 1 &&
             cache.headBytes == headNumbers * (cache.f32 ? 4 : 2) &&
             cache.blockBytes == cache.headBytes * 2 * cache.kvHeads * cache.layers,
         "cache sizes");
  size_t weightBytes = 0;
  for (size_t at = 0; at < shape.matrices.size(); at += kMatrixWords) {
    memory_.matrices.push_back(decodeMatrix(shape.matrices.subspan(at, kMatrixWords)));
    weightBytes += roundUp(matrixSize(memory_.matrices.back()), kMatrixAlign);
  }
  PlanLimits limits{shape.arenaBytes, shape.maxRows, shape.maxLogitRows, static_cast<int>(memory_.matrices.size()), {},
                    shape.ropeTables, cache, shape.a16};
  for (const std::span<const float> vector : shape.vectors) {
    limits.vectors.push_back(static_cast<int>(vector.size()));
    std::vector<float>& padded = memory_.vectors.emplace_back(vector.begin(), vector.end());
    padded.resize(roundUp(vector.size(), 16));
  }
  memory_.ops = decodeOps(shape.ops, limits, memory_.matrices);
  memory_.ropeTables = shape.ropeTables;
  memory_.cacheShape = cache;
  memory_.kernels = shape.kernels;
  memory_.arena = std::make_shared<Region>(static_cast<size_t>(shape.arenaBytes));
  memory_.weights = std::make_shared<Region>(weightBytes);
  size_t at = 0;
  for (Matrix& m : memory_.matrices) {
    m.bytes = memory_.weights->data() + at;
    at += roundUp(matrixSize(m), kMatrixAlign);
  }
  step_ = std::make_unique<Step>(memory_, shape.threads);
}

std::span<uint8_t> Runner::matrixBytes(size_t i) {
  expect(i < memory_.matrices.size(), "no such matrix");
  const Matrix& m = memory_.matrices[i];
  return {memory_.weights->data() + (m.bytes - memory_.weights->data()), matrixSize(m)};
}

void Runner::throwIfRunning() const {
  if (running_) throw std::logic_error("a step is under way");
}

void Runner::pack(size_t matrix, int type, int64_t firstRow, int64_t rows, std::span<const uint8_t> bytes,
                  std::function<void(bool)> done) {
  throwIfRunning();
  const std::span<uint8_t> target = matrixBytes(matrix);
  const GgmlType* known = ggmlType(type);
  expect(known && firstRow >= 0 && firstRow <= INT32_MAX && rows >= 1 && rows <= INT32_MAX, "rows to pack");
  const PackRequest request{&memory_.matrices[matrix], target.data(), known, static_cast<int>(firstRow),
                            static_cast<int>(rows), bytes};
  checkPackRequest(request);
  pack_.prepare(request, pool_.threads(), std::move(done));
  running_ = true;
  pool_.start(pack_);
}

std::span<const uint8_t> Runner::read(int64_t offset, int64_t bytes) const {
  throwIfRunning();
  const int64_t size = static_cast<int64_t>(memory_.arena->size());
  expect(offset >= 0 && bytes >= 0 && bytes <= size && offset <= size - bytes, "a part of the arena");
  return {memory_.arena->data() + offset, static_cast<size_t>(bytes)};
}

void Runner::ensureBlocks(int64_t count) {
  throwIfRunning();
  if (count <= blockCount_) return;
  expect(count <= INT32_MAX, "block count");
  memory_.cache.grow(static_cast<size_t>(count) * memory_.cacheShape.blockBytes);
  blockCount_ = count;
}

void Runner::step(StepInput input, std::function<void(bool)> done) {
  throwIfRunning();
  check(input);
  step_->prepare(std::move(input), std::move(done));
  running_ = true;
  pool_.start(*step_);
}

void Runner::check(const StepInput& input) const {
  const int64_t M = static_cast<int64_t>(input.tokenIds.size());
  expect(M >= 1 && M <= maxRows_, "token count");
  expect(input.logitRows.size() <= static_cast<size_t>(maxRows_), "selected row count");
  const int64_t selected = static_cast<int64_t>(input.logitRows.size());
  expect(input.logitCount == 0 || (input.logitCount == selected && selected <= maxLogitRows_), "logit row count");
  for (const int32_t row : input.logitRows) expect(row >= 0 && row < M, "logit row");
  for (const Op& op : memory_.ops)
    if (const auto* embed = std::get_if<EmbedOp>(&op.what))
      for (const int32_t id : input.tokenIds) expect(id >= 0 && id < memory_.matrices[embed->matrix].N, "token id");
  int64_t rows = 0;
  for (const Segment& segment : input.segments) {
    expect(segment.firstRow == rows && segment.rows >= 1 && segment.position >= 0 &&
               segment.rows <= INT32_MAX - segment.position,
           "segment");
    const size_t needed = (static_cast<size_t>(segment.position) + segment.rows + 15) / 16;
    expect(segment.blocksAt <= input.blocks.size() && needed <= input.blocks.size() - segment.blocksAt,
           "segment's blocks");
    for (size_t i = 0; i < needed; i++) {
      const int32_t block = input.blocks[segment.blocksAt + i];
      expect(block >= 0 && block < blockCount_, "block id");
    }
    rows += segment.rows;
  }
  expect(rows == M, "rows of segments");
  size_t angles = 0;
  for (const int rotary : memory_.ropeTables) angles += static_cast<size_t>(rotary) * M;
  expect(input.angles.size() == angles, "angles");
}

}  // namespace halfbyte
