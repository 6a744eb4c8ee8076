#include "plan.h"

#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>

namespace halfbyte {

namespace {

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument("plan: " + what); }

void expect(bool holds, const char* what) {
  if (!holds) refuse(what);
}

int64_t roundUp(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }

/** Takes the words of one record in turn and checks what they mean. */
class Reader {
 public:
  Reader(std::span<const int32_t> words, const PlanLimits& limits, RowSpace space)
      : words_(words), limits_(limits), rows_(space == RowSpace::logits ? limits.maxLogitRows : limits.maxRows) {}

  int word() {
    expect(at_ < words_.size(), "a record is too short");
    return words_[at_++];
  }
  float number() { return std::bit_cast<float>(word()); }
  int below(int64_t limit, const char* what) {
    const int x = word();
    if (x < 0 || x >= limit) refuse(std::string(what) + " " + std::to_string(x));
    return x;
  }
  int positive(const char* what) {
    const int x = word();
    if (x < 1) refuse(std::string(what) + " " + std::to_string(x));
    return x;
  }
  Buffer buffer() {
    const int64_t offset = word();
    return {offset, word()};
  }
  /** Rows of `bytes`, in full registers, inside the arena. */
  void check(const Buffer& b, int64_t bytes, int64_t rows) const {
    const bool aligned = b.offset % 64 == 0 && b.stride % 64 == 0;
    if (b.offset < 0 || b.stride < roundUp(bytes, 64) || !aligned || b.offset + rows * b.stride > limits_.arenaBytes)
      refuse("a buffer is outside the arena");
  }
  void checkF32(const Buffer& b, int64_t width) const { check(b, width * 4, rows_); }
  void end() const { expect(at_ == words_.size(), "a record is too long"); }
  int64_t rows() const { return rows_; }

 private:
  std::span<const int32_t> words_;
  const PlanLimits& limits_;
  int64_t rows_;
  size_t at_ = 0;
};

void checkShape(const Reader& in, const Buffer& b, const QuantizedShape& s) {
  expect(s.K >= 1 && s.paddedK == roundUp(s.K, 32) && s.group >= 1 && s.run >= 1, "a quantised row's sizes");
  expect((s.group % 16 == 0 || s.group >= s.K) && (s.run % 16 == 0 || s.run >= s.K), "a quantised row's groups");
  const int64_t scales = roundUp(s.K, s.group) / s.group * 4, sums = roundUp(s.K, s.run) / s.run * 4;
  expect(s.scaleAt >= 2 * int64_t{s.paddedK} && s.scaleAt % 4 == 0 && s.sumAt >= s.scaleAt + scales && s.sumAt % 4 == 0,
         "a quantised row's layout");
  in.check(b, s.sumAt + sums, in.rows());
}

Op decodeOp(int opcode, Reader in, const PlanLimits& limits, std::span<const Matrix> matrices) {
  Op op{};
  switch (opcode) {
    case 1: {
      EmbedOp e;
      e.matrix = in.below(limits.matrices, "matrix");
      e.out = in.buffer();
      e.width = in.positive("width");
      e.multiplier = in.number();
      expect(matrices[e.matrix].K == e.width, "an embedding's width");
      in.checkF32(e.out, e.width);
      op.what = e;
      break;
    }
    case 2: {
      GatherOp g;
      g.in = in.buffer();
      g.out = in.buffer();
      g.width = in.positive("width");
      in.check(g.in, g.width * int64_t{4}, limits.maxRows);
      in.checkF32(g.out, g.width);
      op.what = g;
      break;
    }
    case 3: {
      NormOp n;
      n.in = in.buffer();
      n.out = in.buffer();
      n.width = in.positive("width");
      n.heads = in.positive("heads");
      n.vector = in.below(static_cast<int64_t>(limits.vectors.size()), "vector");
      n.eps = in.number();
      n.residual = in.buffer();
      expect(n.width % n.heads == 0 && limits.vectors[n.vector] == n.width / n.heads, "a norm's weights");
      in.checkF32(n.in, n.width);
      in.checkF32(n.out, n.width);
      if (n.residual.present()) in.checkF32(n.residual, n.width);
      op.what = n;
      break;
    }
    case 4: {
      QuantizeOp q;
      q.in = in.buffer();
      q.out = in.buffer();
      q.shape.K = in.word();
      q.shape.paddedK = in.word();
      q.shape.group = in.word();
      q.shape.run = in.word();
      q.shape.scaleAt = in.word();
      q.shape.sumAt = in.word();
      q.shape.a16 = limits.a16;
      q.shape.largest = limits.a16 ? 32767 : 127;
      checkShape(in, q.out, q.shape);
      in.checkF32(q.in, q.shape.K);
      op.what = q;
      break;
    }
    case 5: {
      LinearOp l;
      l.quantized = in.word() != 0;
      l.in = in.buffer();
      QuantizedShape& s = l.shape;
      s.K = in.positive("K");
      s.paddedK = static_cast<int>(roundUp(s.K, 32));
      s.group = in.word();
      s.run = in.word();
      s.scaleAt = in.word();
      s.sumAt = in.word();
      s.a16 = limits.a16;
      s.largest = limits.a16 ? 32767 : 127;
      if (l.quantized)
        checkShape(in, l.in, s);
      else
        in.checkF32(l.in, s.K);
      const int parts = in.positive("parts");
      for (int i = 0; i < parts; i++) {
        LinearPart p;
        p.matrix = in.below(limits.matrices, "matrix");
        p.bias = in.word();
        p.out = in.buffer();
        p.residual = in.buffer();
        p.run = in.word();
        const Matrix& w = matrices[p.matrix];
        expect(w.quantized == l.quantized && w.K == s.K, "a matrix does not fit its input");
        expect(p.bias == -1 || (p.bias >= 0 && p.bias < static_cast<int>(limits.vectors.size()) &&
                                limits.vectors[p.bias] == w.N),
               "a bias");
        in.checkF32(p.out, w.N);
        if (p.residual.present()) in.checkF32(p.residual, w.N);
        if (l.quantized)
          expect(p.run >= 1 && (p.run % 16 == 0 || p.run >= s.K) && (p.run % s.run == 0 || p.run >= s.K) &&
                     (w.bits != 5 || p.run % 32 == 0 || p.run >= s.K) &&
                     (w.groupSize % p.run == 0 || w.groupSize >= s.K) && (s.group % p.run == 0 || s.group >= s.K),
                 "a run");
        l.parts.push_back(p);
      }
      op.what = std::move(l);
      break;
    }
    case 6: {
      RopeOp r;
      r.buffer = in.buffer();
      r.heads = in.positive("heads");
      r.headSize = in.positive("head size");
      r.rotary = in.positive("rotary dims");
      r.table = in.below(static_cast<int64_t>(limits.ropeTables.size()), "rotary table");
      r.neighbours = in.word() != 0;
      expect(r.rotary % 2 == 0 && r.rotary <= r.headSize && limits.ropeTables[r.table] == r.rotary, "rotary dims");
      in.checkF32(r.buffer, int64_t{r.heads} * r.headSize);
      op.what = r;
      break;
    }
    case 7: {
      StoreOp s;
      s.layer = in.below(limits.cache.layers, "layer");
      s.k = in.buffer();
      s.v = in.buffer();
      in.checkF32(s.k, int64_t{limits.cache.kvHeads} * limits.cache.headSize);
      in.checkF32(s.v, int64_t{limits.cache.kvHeads} * limits.cache.headSize);
      op.what = s;
      break;
    }
    case 8: {
      AttentionOp a;
      a.layer = in.below(limits.cache.layers, "layer");
      a.q = in.buffer();
      a.out = in.buffer();
      a.heads = in.positive("heads");
      a.kvHeads = in.positive("key-value heads");
      a.headSize = in.positive("head size");
      a.scale = in.number();
      a.window = in.word();
      a.softCap = in.number();
      expect(a.kvHeads == limits.cache.kvHeads && a.headSize == limits.cache.headSize && a.heads % a.kvHeads == 0 &&
                 a.window >= 0,
             "attention heads");
      in.checkF32(a.q, int64_t{a.heads} * a.headSize);
      in.checkF32(a.out, int64_t{a.heads} * a.headSize);
      op.what = a;
      break;
    }
    case 9: {
      GateOp g;
      g.gate = in.buffer();
      g.up = in.buffer();
      g.out = in.buffer();
      g.width = in.positive("width");
      g.kind = static_cast<GateKind>(in.below(3, "gate"));
      for (const Buffer& b : {g.gate, g.up, g.out}) in.checkF32(b, g.width);
      op.what = g;
      break;
    }
    case 10: {
      AddOp a;
      a.a = in.buffer();
      a.b = in.buffer();
      a.out = in.buffer();
      a.width = in.positive("width");
      for (const Buffer& b : {a.a, a.b, a.out}) in.checkF32(b, a.width);
      op.what = a;
      break;
    }
    case 11: {
      ReorderOp r;
      r.in = in.buffer();
      r.out = in.buffer();
      const int width = in.positive("width");
      for (int j = 0; j < width; j++) r.order.push_back(in.below(width, "input"));
      for (const Buffer& b : {r.in, r.out}) in.checkF32(b, width);
      op.what = std::move(r);
      break;
    }
    case 12: {
      ScaleOp s;
      s.buffer = in.buffer();
      s.width = in.positive("width");
      s.multiplier = in.number();
      s.softCap = in.number();
      in.checkF32(s.buffer, s.width);
      op.what = s;
      break;
    }
    case 13: {
      HeadGateOp g;
      g.gate = in.buffer();
      g.in = in.buffer();
      g.out = in.buffer();
      g.heads = in.positive("heads");
      g.headSize = in.positive("head size");
      in.checkF32(g.gate, g.heads);
      for (const Buffer& b : {g.in, g.out}) in.checkF32(b, int64_t{g.heads} * g.headSize);
      op.what = g;
      break;
    }
    default:
      refuse("unknown op " + std::to_string(opcode));
  }
  in.end();
  return op;
}

}  // namespace

std::vector<Op> decodeOps(std::span<const int32_t> words, const PlanLimits& limits, std::span<const Matrix> matrices) {
  constexpr size_t kHead = 4;
  std::vector<Op> ops;
  while (!words.empty()) {
    expect(words.size() >= kHead && words[1] >= static_cast<int>(kHead) && static_cast<size_t>(words[1]) <= words.size(),
           "a record's length");
    const size_t length = static_cast<size_t>(words[1]);
    expect(words[3] >= 0 && words[3] < static_cast<int>(kRowSpaces), "rows of an op");
    const auto space = static_cast<RowSpace>(words[3]);
    Op op = decodeOp(words[0], Reader(words.subspan(kHead, length - kHead), limits, space), limits, matrices);
    op.sync = words[2] != 0;
    op.rows = space;
    // These go by positions, which belong to tokens.
    expect(space == RowSpace::tokens || words[0] < 6 || words[0] > 8, "a rotary embedding or attention over rows of logits");
    ops.push_back(std::move(op));
    words = words.subspan(length);
  }
  return ops;
}

Matrix decodeMatrix(std::span<const int32_t> words) {
  expect(words.size() == kMatrixWords, "a matrix record's length");
  Matrix m{};
  m.quantized = words[0] != 0;
  m.N = words[2];
  m.K = words[3];
  m.blocks = words[4];
  m.blockBytes = static_cast<size_t>(words[5]);
  m.kind = static_cast<Kind>(words[6]);
  m.offset = Kind::none;
  expect(m.N >= 1 && m.K >= 1 && m.blocks == (int64_t{m.N} + 15) / 16 && words[5] > 0 && words[5] % 64 == 0,
         "a matrix's sizes");
  const int64_t perBlock = words[5];
  const auto valueBytes = [](Kind kind) { return kind == Kind::f32 ? 4 : kind <= Kind::bf16 ? 2 : 1; };
  if (!m.quantized) {
    expect(words[6] >= 0 && words[6] <= 2, "a float matrix's type");
    expect(int64_t{m.K} * 16 * valueBytes(m.kind) <= perBlock, "a float matrix's block");
    return m;
  }
  m.bits = words[7];
  m.groupSize = words[8];
  m.groups = words[9];
  m.paddedK = words[10];
  m.zeroPerGroup = words[11] != 0;
  m.zero = words[12];
  m.offset = static_cast<Kind>(words[13]);
  m.superSize = words[14];
  m.highAt = words[15];
  m.superScaleAt = words[16];
  m.superOffsetAt = words[17];
  m.scaleAt = words[18];
  m.zeroAt = words[19];
  m.offsetAt = words[20];
  std::memcpy(m.codeBook, &words[21], sizeof m.codeBook);
  for (const int8_t value : m.codeBook) m.hasCodeBook |= value != 0;
  expect(m.bits == 4 || m.bits == 5 || m.bits == 6 || m.bits == 8, "a code width");
  expect(!m.hasCodeBook || m.bits == 4, "a code book");
  expect(words[6] >= 0 && words[6] <= 4 && words[13] >= -1 && words[13] <= 4, "a scale's type");
  expect(m.groupSize >= 1 && m.groups == (int64_t{m.K} + m.groupSize - 1) / m.groupSize &&
             m.paddedK == roundUp(m.K, 32) && (m.groupSize % 16 == 0 || m.groupSize >= m.K),
         "a matrix's groups");
  const bool superScale = m.kind >= Kind::two_level_u8, superOffset = m.offset >= Kind::two_level_u8;
  expect(!(superScale || superOffset) || (m.superSize >= m.groupSize && m.superSize % m.groupSize == 0), "a super size");
  const int64_t supers = m.superSize ? (int64_t{m.K} + m.superSize - 1) / m.superSize : 0;
  // Each part must end where the next begins, at the latest, and start aligned for its numbers.
  int64_t at = int64_t{m.paddedK} * 8;
  const auto part = [&](int64_t start, int64_t bytes, int64_t align) {
    expect(start >= at && start % align == 0, "a matrix's layout");
    at = start + bytes;
  };
  part(m.highAt, int64_t{m.paddedK} * (m.bits == 8 ? 8 : 2 * (m.bits - 4)), 64);
  part(m.superScaleAt, superScale ? supers * 32 : 0, 2);
  part(m.superOffsetAt, superOffset ? supers * 32 : 0, 2);
  part(m.scaleAt, int64_t{m.groups} * 16 * valueBytes(m.kind), valueBytes(m.kind));
  part(m.zeroAt, m.zeroPerGroup ? int64_t{m.groups} * 16 : 0, 1);
  part(m.offsetAt, m.offset == Kind::none ? 0 : int64_t{m.groups} * 16 * valueBytes(m.offset), 1);
  expect(at <= perBlock, "a matrix's block");
  return m;
}

}  // namespace halfbyte
