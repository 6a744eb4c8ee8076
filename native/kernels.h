#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cpu.h"
#include "matrix.h"

namespace halfbyte {

/** Rows of f32, or of quantised codes, in the arena. */
struct Rows {
  uint8_t* at;
  size_t stride;

  float* f32(int m) const { return reinterpret_cast<float*>(at + m * stride); }
  uint8_t* bytes(int m) const { return at + m * stride; }
};

/**
 * A quantised row: 8-bit codes [paddedK] or, in A16, their high signed bytes [paddedK] and then their low unsigned ones
 * [paddedK]; f32 scales [K / group] at scaleAt; int32 sums of codes [K / run] at sumAt.
 */
struct QuantizedShape {
  int K, paddedK, group, run, scaleAt, sumAt;
  bool a16;
  /** Largest code: 127 or 32767. */
  float largest;
};

struct NormRow {
  const float* x;
  const float* weight;
  /** Or null. */
  const float* residual;
  float* y;
  int size;
  float eps;
};

enum class GateKind : int32_t { silu = 0, gelu_tanh = 1, gelu_erf = 2 };

/** y = x · Wᵀ for some blocks of outputs and all rows. */
struct LinearCall {
  const Matrix* matrix;
  Rows x;
  const QuantizedShape* shape;
  /** Inputs summed as integers before they are scaled. */
  int run;
  int M;
  Rows out;
  /** Null `at`: none. */
  Rows residual;
  /** Padded to 16, or null. */
  const float* bias;
  int firstBlock, endBlock;
  /** See `linearScratchBytes`. */
  float* scratch;
};

/** Bytes of scratch a thread needs for a matrix. */
size_t linearScratchBytes(const Matrix& matrix);

struct CacheShape {
  bool f32;
  int layers, kvHeads, headSize;
  size_t headBytes, blockBytes;
};

/** Query rows × heads that one call attends for: all of one segment and one key-value head. */
constexpr int kAttentionPairs = 8;

struct AttentionCall {
  /** Keys of the layer and key-value head in block 0; values `headBytes` later. */
  const uint8_t* keys;
  const CacheShape* cache;
  const int32_t* blocks;
  int pairs;
  struct Pair {
    const float* q;
    float* out;
    int position;
  } pair[kAttentionPairs];
  float scale;
  /** 0: none. */
  int window;
  /** 0: none. */
  float softCap;
  /** f32 [pairs][positions rounded to 16, one block more]. */
  float* scratch;
};

/** One instruction set's form of every op that computes. */
struct Kernels {
  const char* name;
  uint32_t needs;
  void (*norm)(const NormRow&);
  void (*quantize)(const float* x, uint8_t* row, const QuantizedShape&);
  void (*rope)(float* row, const float* angles, int heads, int headSize, int rotary, bool neighbours);
  void (*gate)(const float* gate, const float* up, float* out, int width, GateKind);
  void (*add)(const float* a, const float* b, float* out, int width);
  void (*scale)(float* x, int width, float multiplier, float softCap);
  void (*headGate)(const float* gate, const float* x, float* out, int heads, int headSize);
  void (*store)(const float* k, const float* v, uint8_t* keys, const CacheShape&, int token);
  void (*linear)(const LinearCall&);
  void (*attention)(const AttentionCall&);
};

struct Candidate {
  const Kernels* kernels;
  /** Why this CPU cannot run it; empty where it can. */
  std::string reason;
};

/** All kernels of this build, best first. */
const std::vector<Candidate>& kernelCandidates();

}  // namespace halfbyte
