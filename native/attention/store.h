#pragma once
// Keys and values of one token into the cache: keys transposed, [D][16 tokens], values [16 tokens][D].
// Included inside a target region.

namespace halfbyte::HALFBYTE_ISA {

/** f16 saturates at ±65504; a NaN passes. */
HALFBYTE_INLINE void storeF16(uint16_t* p, F x) {
  storeF16Bits(p, larger(setF(-65504.0f), smaller(setF(65504.0f), x)));
}

/** k, v: f32 [D] of one head; `keys` is that head's part of a block. */
static void storeHead(const float* k, const float* v, uint8_t* keys, const CacheShape& cache, int token) {
  const int D = cache.headSize;
  uint8_t* values = keys + cache.headBytes;
  if (cache.f32) {
    float* to = reinterpret_cast<float*>(keys) + token;
    for (int d = 0; d < D; d++) to[d * kBlockOutputs] = k[d];
    std::memcpy(reinterpret_cast<float*>(values) + token * D, v, D * sizeof(float));
    return;
  }
  uint16_t* to = reinterpret_cast<uint16_t*>(keys) + token;
  uint16_t* row = reinterpret_cast<uint16_t*>(values) + token * D;
  uint16_t halves[16];
  for (int d = 0; d < D; d += 16) {
    const int n = D - d < 16 ? D - d : 16;
    storeF16(halves, loadFirst(k + d, n));
    for (int i = 0; i < n; i++) to[(d + i) * kBlockOutputs] = halves[i];
    storeF16(halves, loadFirst(v + d, n));
    std::memcpy(row + d, halves, n * sizeof(uint16_t));
  }
}

static void store(const float* k, const float* v, uint8_t* keys, const CacheShape& cache, int token) {
  for (int h = 0; h < cache.kvHeads; h++)
    storeHead(k + h * cache.headSize, v + h * cache.headSize, keys + h * cache.headBytes * 2, cache, token);
}

}  // namespace halfbyte::HALFBYTE_ISA
