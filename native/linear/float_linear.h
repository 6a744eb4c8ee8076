#pragma once
// Products with float matrices, arithmetic rule 1 over K. Included inside a target region.

#include "group_values.h"

namespace halfbyte::HALFBYTE_ISA {

template <Kind kind>
HALFBYTE_INLINE F loadWeights(const uint8_t* block, size_t k) {
  if constexpr (kind == Kind::f16) return loadF16(reinterpret_cast<const uint16_t*>(block) + k * 16);
  if constexpr (kind == Kind::bf16) return loadBf16(reinterpret_cast<const uint16_t*>(block) + k * 16);
  return load(reinterpret_cast<const float*>(block) + k * 16);
}

/** R rows from m, B blocks from `block`: as many sums side by side as hide the latency of an addition. */
template <Kind kind, int R, int B>
static void floatTile(const LinearCall& c, int m, int block) {
  F y[R][B];
  const uint8_t* blocks[B];
  const float* rows[R];
  HALFBYTE_UNROLL
  for (int b = 0; b < B; b++) blocks[b] = c.matrix->block(block + b);
  HALFBYTE_UNROLL
  for (int r = 0; r < R; r++) {
    rows[r] = c.x.f32(m + r);
    HALFBYTE_UNROLL
    for (int b = 0; b < B; b++) y[r][b] = setF(0.0f);
  }
  for (int k = 0; k < c.matrix->K; k++) {
    F w[B];
    HALFBYTE_UNROLL
    for (int b = 0; b < B; b++) w[b] = loadWeights<kind>(blocks[b], k);
    HALFBYTE_UNROLL
    for (int r = 0; r < R; r++) {
      const F x = setF(rows[r][k]);
      HALFBYTE_UNROLL
      for (int b = 0; b < B; b++) y[r][b] = y[r][b] + w[b] * x;
    }
  }
  HALFBYTE_UNROLL
  for (int r = 0; r < R; r++) {
    HALFBYTE_UNROLL
    for (int b = 0; b < B; b++) finish(c, m + r, block + b, y[r][b]);
  }
}

template <Kind kind, int B>
static void floatRows(const LinearCall& c, int block) {
  int m = 0;
  for (; m + 4 <= c.M; m += 4) floatTile<kind, 4, B>(c, m, block);
  for (; m < c.M; m++) floatTile<kind, 1, B>(c, m, block);
}

template <Kind kind>
static void floatBlocks(const LinearCall& c) {
  int block = c.firstBlock;
  for (; block + 4 <= c.endBlock; block += 4) floatRows<kind, 4>(c, block);
  for (; block < c.endBlock; block++) floatRows<kind, 1>(c, block);
}

static void floatLinear(const LinearCall& c) {
  if (c.matrix->kind == Kind::f16) return floatBlocks<Kind::f16>(c);
  if (c.matrix->kind == Kind::bf16) return floatBlocks<Kind::bf16>(c);
  floatBlocks<Kind::f32>(c);
}

}  // namespace halfbyte::HALFBYTE_ISA
