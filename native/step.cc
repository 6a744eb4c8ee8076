#include "step.h"

#include <algorithm>
#include <cstring>

#include "rows/embed.h"

namespace halfbyte {

namespace {

// Items for each thread and phase: enough to even out what a busy neighbour takes.
constexpr int kItemsPerThread = 8;
// Weights in one item when there is one row: claims cost some 100 ns, this takes a microsecond or more to read.
constexpr size_t kItemBytes = 16 << 10;
constexpr size_t kItemBytesMost = 128 << 10;
// One-row kernels take 4 blocks at once, the others 2.
constexpr int kItemBlocks = 4;

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

int ratio(int64_t whole, int64_t part) { return static_cast<int>((whole + part - 1) / part); }

size_t linearScratchFloats(const std::vector<Matrix>& matrices) {
  size_t bytes = 0;
  for (const Matrix& m : matrices) bytes = std::max(bytes, linearScratchBytes(m));
  return bytes / sizeof(float);
}

}  // namespace

Step::Step(const StepMemory& memory, int threads)
    : memory_(memory), threads_(threads), scratch_(threads, std::vector<float>(linearScratchFloats(memory.matrices))) {
  for (const Op& op : memory.ops) {
    if (op.sync || phases_.empty()) phases_.emplace_back();
    const bool shared = std::holds_alternative<LinearOp>(op.what) || std::holds_alternative<AttentionOp>(op.what);
    Phase& phase = phases_.back();
    (shared ? phase.sharedOps : phase.rowOps[static_cast<size_t>(op.rows)]).push_back(&op);
  }
}

void Step::prepare(StepInput input, std::function<void(bool)> done) {
  input_ = std::move(input);
  done_ = std::move(done);
  const size_t M = input_.tokenIds.size();
  positions_.resize(M);
  segmentOfRow_.resize(M);
  int last = 0;
  for (const Segment& segment : input_.segments) {
    for (int i = 0; i < segment.rows; i++) {
      positions_[segment.firstRow + i] = segment.position + i;
      segmentOfRow_[segment.firstRow + i] = &segment;
    }
    last = std::max(last, segment.position + segment.rows);
  }
  anglesAt_.clear();
  size_t at = 0;
  for (const int rotary : memory_.ropeTables) {
    anglesAt_.push_back(at);
    at += M * rotary;
  }
  const size_t scores = static_cast<size_t>(kAttentionPairs) * (last / 16 + 2) * 16;
  for (std::vector<float>& scratch : scratch_)
    if (scratch.size() < scores) scratch.resize(scores + scores / 2);

  int groupHeads = 1;
  for (const Op& op : memory_.ops)
    if (const auto* a = std::get_if<AttentionOp>(&op.what)) groupHeads = std::max(groupHeads, a->heads / a->kvHeads);
  const int rowsPerTile = std::max(1, kAttentionPairs / groupHeads);
  tiles_.clear();
  for (const Segment& segment : input_.segments)
    for (int row = 0; row < segment.rows; row += rowsPerTile)
      tiles_.push_back({&segment, row, std::min(rowsPerTile, segment.rows - row)});

  for (Phase& phase : phases_) {
    phase.items = 0;
    for (const auto& ops : phase.rowOps)
      if (!ops.empty()) phase.items += rowItems(rowCount(ops.front()->rows));
    for (const Op* op : phase.sharedOps) phase.items += sharedItems(*op);
  }
}

int Step::rowCount(RowSpace space) const {
  if (space == RowSpace::tokens) return static_cast<int>(input_.tokenIds.size());
  return static_cast<int>(space == RowSpace::selected ? static_cast<int64_t>(input_.logitRows.size()) : input_.logitCount);
}

uint32_t Step::rowItems(int rows) const { return static_cast<uint32_t>(std::min(rows, threads_ * kItemsPerThread)); }

int Step::blocksPerItem(const LinearOp& op, int M) const {
  int64_t blocks = 0, bytes = 0;
  for (const LinearPart& part : op.parts) {
    blocks += memory_.matrices[part.matrix].blocks;
    bytes += static_cast<int64_t>(memory_.matrices[part.matrix].blockBytes) * memory_.matrices[part.matrix].blocks;
  }
  const int64_t even = ratio(blocks, threads_ * kItemsPerThread);
  const int64_t blockBytes = std::max<int64_t>(1, bytes / blocks) * M;
  const int64_t least = ratio(kItemBytes, blockBytes), most = std::max<int64_t>(1, kItemBytesMost / blockBytes);
  return ratio(std::max(least, std::min(even, most)), kItemBlocks) * kItemBlocks;
}

int Step::headsPerItem(const AttentionOp& op) const {
  const int groupHeads = op.heads / op.kvHeads;
  // Heads that share keys go together, unless that leaves too few items to go round.
  const bool few = static_cast<int>(tiles_.size()) * op.kvHeads < 2 * threads_;
  return few ? 1 : std::min(groupHeads, kAttentionPairs);
}

uint32_t Step::sharedItems(const Op& op) const {
  const int M = rowCount(op.rows);
  if (M == 0) return 0;
  if (const auto* linear = std::get_if<LinearOp>(&op.what)) {
    const int step = blocksPerItem(*linear, M);
    int items = 0;
    for (const LinearPart& part : linear->parts) items += ratio(memory_.matrices[part.matrix].blocks, step);
    return static_cast<uint32_t>(items);
  }
  const auto& attention = std::get<AttentionOp>(op.what);
  const int groups = attention.kvHeads * ratio(attention.heads / attention.kvHeads, headsPerItem(attention));
  return static_cast<uint32_t>(tiles_.size()) * groups;
}

void Step::run(uint32_t phaseNumber, uint32_t item, int thread) {
  const Phase& phase = phases_[phaseNumber];
  for (const auto& ops : phase.rowOps) {
    if (ops.empty()) continue;
    const int rows = rowCount(ops.front()->rows);
    const uint32_t items = rowItems(rows);
    if (item < items) {
      const int64_t first = int64_t{rows} * item / items, end = int64_t{rows} * (item + 1) / items;
      return runRows(ops, static_cast<int>(first), static_cast<int>(end));
    }
    item -= items;
  }
  for (const Op* op : phase.sharedOps) {
    const uint32_t items = sharedItems(*op);
    if (item < items) {
      float* scratch = scratch_[thread].data();
      if (const auto* attention = std::get_if<AttentionOp>(&op->what)) return runAttention(*attention, item, scratch);
      return runLinear(*op, item, scratch);
    }
    item -= items;
  }
}

void Step::runRows(const std::vector<const Op*>& ops, int first, int end) const {
  for (const Op* op : ops)
    for (int m = first; m < end; m++) runRow(*op, m);
}

void Step::runRow(const Op& op, int m) const {
  const Kernels& kernels = *memory_.kernels;
  std::visit(
      Overloaded{
          [&](const EmbedOp& e) {
            embedRow(memory_.matrices[e.matrix], input_.tokenIds[m], e.multiplier, rowsOf(e.out).f32(m));
          },
          [&](const GatherOp& g) {
            std::memcpy(rowsOf(g.out).f32(m), rowsOf(g.in).f32(input_.logitRows[m]), g.width * sizeof(float));
          },
          [&](const NormOp& n) {
            const int size = n.width / n.heads;
            const float* residual = n.residual.present() ? rowsOf(n.residual).f32(m) : nullptr;
            for (int at = 0; at < n.width; at += size)
              kernels.norm({rowsOf(n.in).f32(m) + at, memory_.vectors[n.vector].data(),
                            residual ? residual + at : nullptr, rowsOf(n.out).f32(m) + at, size, n.eps});
          },
          [&](const ReorderOp& r) {
            const float* x = rowsOf(r.in).f32(m);
            float* y = rowsOf(r.out).f32(m);
            for (const int from : r.order) *y++ = x[from];
          },
          [&](const QuantizeOp& q) { kernels.quantize(rowsOf(q.in).f32(m), rowsOf(q.out).bytes(m), q.shape); },
          [&](const RopeOp& r) {
            const float* angles = input_.angles.data() + anglesAt_[r.table] + static_cast<size_t>(m) * r.rotary;
            kernels.rope(rowsOf(r.buffer).f32(m), angles, r.heads, r.headSize, r.rotary, r.neighbours);
          },
          [&](const StoreOp& s) {
            const CacheShape& cache = memory_.cacheShape;
            const int position = positions_[m];
            const int32_t block = input_.blocks[segmentOfRow_[m]->blocksAt + position / 16];
            uint8_t* keys = memory_.cache.data() + block * cache.blockBytes +
                            static_cast<size_t>(s.layer) * cache.kvHeads * cache.headBytes * 2;
            kernels.store(rowsOf(s.k).f32(m), rowsOf(s.v).f32(m), keys, cache, position % 16);
          },
          [&](const GateOp& g) {
            kernels.gate(rowsOf(g.gate).f32(m), rowsOf(g.up).f32(m), rowsOf(g.out).f32(m), g.width, g.kind);
          },
          [&](const ScaleOp& s) { kernels.scale(rowsOf(s.buffer).f32(m), s.width, s.multiplier, s.softCap); },
          [&](const HeadGateOp& g) {
            kernels.headGate(rowsOf(g.gate).f32(m), rowsOf(g.in).f32(m), rowsOf(g.out).f32(m), g.heads, g.headSize);
          },
          [&](const AddOp& a) {
            kernels.add(rowsOf(a.a).f32(m), rowsOf(a.b).f32(m), rowsOf(a.out).f32(m), a.width);
          },
          [](const LinearOp&) {},
          [](const AttentionOp&) {},
      },
      op.what);
}

void Step::runLinear(const Op& op, uint32_t item, float* scratch) const {
  const auto& linear = std::get<LinearOp>(op.what);
  const int M = rowCount(op.rows), step = blocksPerItem(linear, M);
  for (const LinearPart& part : linear.parts) {
    const Matrix& matrix = memory_.matrices[part.matrix];
    const uint32_t items = static_cast<uint32_t>(ratio(matrix.blocks, step));
    if (item >= items) {
      item -= items;
      continue;
    }
    const int first = static_cast<int>(item) * step;
    const float* bias = part.bias < 0 ? nullptr : memory_.vectors[part.bias].data();
    memory_.kernels->linear({&matrix, rowsOf(linear.in), &linear.shape, part.run, M, rowsOf(part.out),
                             rowsOf(part.residual), bias, first, std::min(first + step, matrix.blocks), scratch});
    return;
  }
}

void Step::runAttention(const AttentionOp& op, uint32_t item, float* scratch) const {
  const CacheShape& cache = memory_.cacheShape;
  const int groupHeads = op.heads / op.kvHeads, step = headsPerItem(op);
  const int parts = ratio(groupHeads, step);
  // Heads change fastest, so that threads at neighbouring items read the same keys.
  const int part = static_cast<int>(item % parts), kvHead = static_cast<int>(item / parts % op.kvHeads);
  const RowTile& tile = tiles_[item / parts / op.kvHeads];
  const Segment& segment = *tile.segment;
  const int firstHead = kvHead * groupHeads + part * step;
  const int heads = std::min(step, groupHeads - part * step);
  AttentionCall call;
  call.keys = memory_.cache.data() + (static_cast<size_t>(op.layer) * cache.kvHeads + kvHead) * cache.headBytes * 2;
  call.cache = &cache;
  call.blocks = input_.blocks.data() + segment.blocksAt;
  call.scale = op.scale;
  call.window = op.window;
  call.softCap = op.softCap;
  call.scratch = scratch;
  call.pairs = 0;
  for (int row = tile.firstRow; row < tile.firstRow + tile.rows; row++) {
    const int m = segment.firstRow + row;
    for (int h = firstHead; h < firstHead + heads; h++)
      call.pair[call.pairs++] = {rowsOf(op.q).f32(m) + h * op.headSize, rowsOf(op.out).f32(m) + h * op.headSize,
                                 segment.position + row};
  }
  memory_.kernels->attention(call);
}

}  // namespace halfbyte
