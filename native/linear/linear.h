#pragma once
// Products with quantised matrices, arithmetic rule 4. Included inside a target region, after a file that defines
// `Products<Codes, a16, R, B>`, the integer sums of R rows and B blocks over a run, and the tile sizes.

#include "float_linear.h"
#include "group_values.h"

namespace halfbyte::HALFBYTE_ISA {

/** R rows from m, B blocks from `block` that stand `apart` from each other. */
template <class Codes, bool a16, int R, int B, class Values>
static void tile(const LinearCall& c, int m, int block, int apart, const Values (&scales)[B], const Values (&offsets)[B]) {
  using Sums = Products<Codes, a16, R, B>;
  const Matrix& w = *c.matrix;
  const QuantizedShape& shape = *c.shape;
  const int K = shape.K, run = c.run, perRun = ratio(run, shape.run);
  const int zero = w.zero + (w.hasCodeBook ? 128 : 0) - Sums::kCentre;
  const bool hasOffset = w.offset != Kind::none;
  const bool minus = hasOffset && subtracted(w.offset) && std::is_same_v<Values, StoredValues>;
  const uint8_t* blocks[B];
  const uint8_t* rows[R];
  F y[R][B];
  HALFBYTE_UNROLL
  for (int b = 0; b < B; b++) blocks[b] = w.block(block + b * apart);
  HALFBYTE_UNROLL
  for (int r = 0; r < R; r++) {
    rows[r] = c.x.bytes(m + r);
    HALFBYTE_UNROLL
    for (int b = 0; b < B; b++) y[r][b] = setF(0.0f);
  }
  Counter group(ratio(w.groupSize, run)), super(w.superSize ? ratio(w.superSize, run) : K), active(ratio(shape.group, run));
  constexpr int kUnit = 8 * Codes::kOctets;
  // The last rows bring in the blocks that come next; the others read what is near already.
  const size_t ahead = m + R >= c.M ? B * w.blockBytes : 0;
  for (int j = 0, first = 0; first < K; j++, first += run) {
    const int end = K - first < run ? K : first + run;
    float codeSum[R], sx[R];
    int32_t intSum[R];
    I acc[R][B];
    HALFBYTE_UNROLL
    for (int r = 0; r < R; r++) {
      intSum[r] = runSum(shape, rows[r], j, perRun);
      codeSum[r] = static_cast<float>(intSum[r]);
      sx[r] = reinterpret_cast<const float*>(rows[r] + shape.scaleAt)[active.index];
      const I start = setI(-zero * intSum[r]);
      HALFBYTE_UNROLL
      for (int b = 0; b < B; b++) acc[r][b] = start;
    }
    Sums::add(w, blocks, rows, shape.paddedK, first / 8, ratio(end, kUnit) * Codes::kOctets, ahead, acc);
    if (w.zeroPerGroup) {
      HALFBYTE_UNROLL
      for (int b = 0; b < B; b++) {
        const I zeros = loadU8(blocks[b] + w.zeroAt + group.index * 16);
        HALFBYTE_UNROLL
        for (int r = 0; r < R; r++) acc[r][b] = acc[r][b] - zeros * setI(intSum[r]);
      }
    }
    if (hasOffset) {
      HALFBYTE_UNROLL
      for (int b = 0; b < B; b++) {
        const F scale = scales[b].at(group.index, super.index);
        F offset = offsets[b].at(group.index, super.index);
        if (minus) offset = negative(offset);
        HALFBYTE_UNROLL
        for (int r = 0; r < R; r++)
          y[r][b] = y[r][b] + (scale * toFloat(acc[r][b]) + offset * setF(codeSum[r])) * setF(sx[r]);
      }
    } else {
      HALFBYTE_UNROLL
      for (int b = 0; b < B; b++) {
        const F scale = scales[b].at(group.index, super.index);
        HALFBYTE_UNROLL
        for (int r = 0; r < R; r++) y[r][b] = y[r][b] + (scale * toFloat(acc[r][b])) * setF(sx[r]);
      }
    }
    group.next();
    super.next();
    active.next();
  }
  HALFBYTE_UNROLL
  for (int r = 0; r < R; r++) {
    HALFBYTE_UNROLL
    for (int b = 0; b < B; b++) finish(c, m + r, block + b * apart, y[r][b]);
  }
}

template <class Codes, bool a16, int B>
static void oneRow(const LinearCall& c, int block, int apart) {
  StoredValues scales[B], offsets[B];
  for (int b = 0; b < B; b++) {
    scales[b] = storedScales(*c.matrix, c.matrix->block(block + b * apart));
    offsets[b] = storedOffsets(*c.matrix, c.matrix->block(block + b * apart));
  }
  tile<Codes, a16, 1, B>(c, 0, block, apart, scales, offsets);
}

template <class Codes, bool a16, int B>
static void manyRows(const LinearCall& c, int block) {
  const Matrix& w = *c.matrix;
  ConvertedValues scales[B], offsets[B];
  for (int b = 0; b < B; b++) {
    float* to = c.scratch + static_cast<size_t>(b) * w.groups * 32;
    scales[b].values = to;
    convertValues(w, storedScales(w, w.block(block + b)), false, to);
    offsets[b].values = to + w.groups * 16;
    if (w.offset != Kind::none)
      convertValues(w, storedOffsets(w, w.block(block + b)), subtracted(w.offset), to + w.groups * 16);
  }
  constexpr int R = kTileRows;
  int m = 0;
  for (; m + R <= c.M; m += R) tile<Codes, a16, R, B>(c, m, block, 1, scales, offsets);
  for (; m + 2 <= c.M; m += 2) tile<Codes, a16, 2, B>(c, m, block, 1, scales, offsets);
  if (m < c.M) tile<Codes, a16, 1, B>(c, m, block, 1, scales, offsets);
}

template <class Codes, bool a16>
static void quantizedLinear(const LinearCall& c) {
  int block = c.firstBlock;
  if (c.M == 1) {
    // Blocks far apart: each is a stream of its own that goes on into the next block, and the CPU's prefetchers see that.
    // Prefetching here as well made it slower.
    const int apart = (c.endBlock - block) / kOneRowBlocks;
    for (int i = 0; i < apart; i++) oneRow<Codes, a16, kOneRowBlocks>(c, block + i, apart);
    for (block += apart * kOneRowBlocks; block < c.endBlock; block++) oneRow<Codes, a16, 1>(c, block, 1);
    return;
  }
  if constexpr (kTileBlocks > 1)
    for (; block + kTileBlocks <= c.endBlock; block += kTileBlocks) manyRows<Codes, a16, kTileBlocks>(c, block);
  for (; block < c.endBlock; block++) manyRows<Codes, a16, 1>(c, block);
}

template <class Codes>
static void linearOf(const LinearCall& c) {
  if (c.shape->a16)
    quantizedLinear<Codes, true>(c);
  else
    quantizedLinear<Codes, false>(c);
}

static void linear(const LinearCall& c) {
  const Matrix& w = *c.matrix;
  if (!w.quantized) return floatLinear(c);
  if (w.hasCodeBook) return linearOf<CodeBook>(c);
  switch (w.bits) {
    case 4:
      return linearOf<Nibbles>(c);
    case 5:
      return linearOf<FiveBits>(c);
    case 6:
      return linearOf<SixBits>(c);
    default:
      return linearOf<EightBits>(c);
  }
}

}  // namespace halfbyte::HALFBYTE_ISA
