#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "kernels.h"

namespace halfbyte {

/** A buffer of rows, before the arena's address is known. */
struct Buffer {
  int64_t offset;
  int64_t stride;
  bool present() const { return offset >= 0; }
};

// Records of `encodeOps` in src/plan/encode.ts.
struct EmbedOp {
  int matrix;
  Buffer out;
  int width;
  float multiplier;
};
struct GatherOp {
  Buffer in, out;
  int width;
};
struct NormOp {
  Buffer in, out;
  int width, heads, vector;
  float eps;
  Buffer residual;
};
struct ReorderOp {
  Buffer in, out;
  /** out[j] = in[order[j]]. */
  std::vector<int> order;
};
struct ScaleOp {
  Buffer buffer;
  int width;
  float multiplier, softCap;
};
struct HeadGateOp {
  Buffer gate, in, out;
  int heads, headSize;
};
struct QuantizeOp {
  Buffer in, out;
  QuantizedShape shape;
};
struct LinearPart {
  int matrix;
  /** −1: none. */
  int bias;
  Buffer out, residual;
  int run;
};
struct LinearOp {
  bool quantized;
  Buffer in;
  QuantizedShape shape;
  std::vector<LinearPart> parts;
};
struct RopeOp {
  Buffer buffer;
  int heads, headSize, rotary, table;
  bool neighbours;
};
struct StoreOp {
  int layer;
  Buffer k, v;
};
struct AttentionOp {
  int layer;
  Buffer q, out;
  int heads, kvHeads, headSize;
  float scale;
  int window;
  float softCap;
};
struct GateOp {
  Buffer gate, up, out;
  int width;
  GateKind kind;
};
struct AddOp {
  Buffer a, b, out;
  int width;
};

/** `RowSpace` in src/plan/graph.ts, in the order of its numbers. */
enum class RowSpace { tokens, selected, logits };
constexpr size_t kRowSpaces = 3;

struct Op {
  bool sync;
  RowSpace rows;
  std::variant<EmbedOp, GatherOp, NormOp, QuantizeOp, LinearOp, RopeOp, StoreOp, AttentionOp, GateOp, AddOp, ReorderOp, ScaleOp, HeadGateOp> what;
};

/** What the words may refer to. */
struct PlanLimits {
  int64_t arenaBytes;
  int maxRows, maxLogitRows;
  int matrices;
  /** Lengths. */
  std::vector<int> vectors;
  /** Rotary dims of each table. */
  std::vector<int> ropeTables;
  CacheShape cache;
  bool a16;
};

/** Throws std::invalid_argument where a record does not fit the limits: nothing is read or written outside them. */
std::vector<Op> decodeOps(std::span<const int32_t> words, const PlanLimits& limits, std::span<const Matrix> matrices);

/** A record of `encodeMatrix`; its address is left to the caller. Throws std::invalid_argument. */
Matrix decodeMatrix(std::span<const int32_t> words);

constexpr int kMatrixWords = 25;

}  // namespace halfbyte
