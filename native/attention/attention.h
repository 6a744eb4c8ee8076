#pragma once
// Attention over the paged cache, arithmetic rule 7. Included inside a target region.

namespace halfbyte::HALFBYTE_ISA {

HALFBYTE_INLINE F loadCached(const float* p) { return load(p); }
HALFBYTE_INLINE F loadCached(const uint16_t* p) { return loadF16(p); }

/** The blocks one pair's row sees: `first` to `last` position, both inside. */
struct Span {
  int first, last;

  int from(int block) const { return first > block * 16 ? first - block * 16 : 0; }
  int to(int block) const { return last < block * 16 + 15 ? last - block * 16 + 1 : 16; }
  bool whole(int block) const { return first <= block * 16 && last >= block * 16 + 15; }
};

/** Lanes outside the span become `other`. */
HALFBYTE_INLINE F within(Span span, int block, F x, float other) {
  if (span.whole(block)) return x;
  float lanes[16];
  store(lanes, x);
  const int from = span.from(block), to = span.to(block);
  for (int l = 0; l < 16; l++)
    if (l < from || l >= to) lanes[l] = other;
  return load(lanes);
}

/** Raw scores of P pairs against B blocks: sums over D in order, sixteen tokens side by side. */
template <int P, int B, class T>
HALFBYTE_INLINE void scoreTile(const T* const* keys, const float* const* q, int D, float* const* scores) {
  F acc[P][B];
  HALFBYTE_UNROLL
  for (int p = 0; p < P; p++)
    HALFBYTE_UNROLL
    for (int b = 0; b < B; b++) acc[p][b] = setF(0.0f);
  for (int d = 0; d < D; d++) {
    F k[B];
    HALFBYTE_UNROLL
    for (int b = 0; b < B; b++) k[b] = loadCached(keys[b] + d * 16);
    HALFBYTE_UNROLL
    for (int p = 0; p < P; p++) {
      const F x = setF(q[p][d]);
      HALFBYTE_UNROLL
      for (int b = 0; b < B; b++) acc[p][b] = acc[p][b] + x * k[b];
    }
  }
  HALFBYTE_UNROLL
  for (int p = 0; p < P; p++)
    HALFBYTE_UNROLL
    for (int b = 0; b < B; b++) store(scores[p] + b * 16, acc[p][b]);
}

template <class T>
struct Attention {
  const AttentionCall& call;
  Span span[kAttentionPairs];
  int firstBlock, endBlock;

  explicit Attention(const AttentionCall& c) : call(c) {
    firstBlock = INT32_MAX;
    endBlock = 0;
    for (int p = 0; p < c.pairs; p++) {
      const int position = c.pair[p].position;
      span[p] = {c.window && position >= c.window ? position - c.window + 1 : 0, position};
      if (span[p].first / 16 < firstBlock) firstBlock = span[p].first / 16;
      if (position / 16 + 1 > endBlock) endBlock = position / 16 + 1;
    }
  }

  const uint8_t* blockAt(int block) const {
    return call.keys + static_cast<size_t>(call.blocks[block]) * call.cache->blockBytes;
  }
  const T* keys(int block) const { return reinterpret_cast<const T*>(blockAt(block)); }
  const T* values(int block) const { return reinterpret_cast<const T*>(blockAt(block) + call.cache->headBytes); }
  float* scores(int p) const { return call.scratch + static_cast<size_t>(p) * (endBlock - firstBlock) * 16; }

  template <int P, int B>
  void scoreBlocks(int p0) {
    const float* q[P];
    float* to[P];
    HALFBYTE_UNROLL
    for (int p = 0; p < P; p++) q[p] = call.pair[p0 + p].q;
    const int D = call.cache->headSize;
    int block = firstBlock;
    for (; block + B <= endBlock; block += B) {
      const T* k[B];
      HALFBYTE_UNROLL
      for (int b = 0; b < B; b++) k[b] = keys(block + b);
      HALFBYTE_UNROLL
      for (int p = 0; p < P; p++) to[p] = scores(p0 + p) + (block - firstBlock) * 16;
      scoreTile<P, B>(k, q, D, to);
    }
    for (; block < endBlock; block++) {
      const T* k = keys(block);
      HALFBYTE_UNROLL
      for (int p = 0; p < P; p++) to[p] = scores(p0 + p) + (block - firstBlock) * 16;
      scoreTile<P, 1>(&k, q, D, to);
    }
  }

  /** Scores to weights exp(score − max); gives the sum of them. */
  float weigh(int p) {
    float* s = scores(p);
    F top = setF(-__builtin_inff());
    const F scale = setF(call.scale), cap = setF(call.softCap);
    for (int block = firstBlock; block < endBlock; block++, s += 16) {
      F x = load(s) * scale;
      if (call.softCap != 0.0f) x = cap * hyperbolicTangent(x / cap);
      x = within(span[p], block, x, -__builtin_inff());
      store(s, x);
      top = larger(x, top);
    }
    const F max = setF(largest(top));
    F z = setF(0.0f);
    s = scores(p);
    for (int block = firstBlock; block < endBlock; block++, s += 16) {
      const F e = within(span[p], block, exponential(load(s) - max), 0.0f);
      store(s, e);
      z = z + e;
    }
    return fold(z);
  }

  /** Sums of J vectors of dims for P pairs, tokens in order. */
  template <int P, int J>
  void sumValues(int p0, int d0, const float* z) {
    const int D = call.cache->headSize;
    F acc[P][J];
    HALFBYTE_UNROLL
    for (int p = 0; p < P; p++)
      HALFBYTE_UNROLL
      for (int j = 0; j < J; j++) acc[p][j] = setF(0.0f);
    for (int block = firstBlock; block < endBlock; block++) {
      const T* v = values(block) + d0;
      const float* e[P];
      bool whole = true;
      HALFBYTE_UNROLL
      for (int p = 0; p < P; p++) {
        e[p] = scores(p0 + p) + (block - firstBlock) * 16;
        whole = whole && span[p0 + p].whole(block);
      }
      if (whole) {
        for (int t = 0; t < 16; t++) {
          F row[J];
          HALFBYTE_UNROLL
          for (int j = 0; j < J; j++) row[j] = loadCached(v + t * D + j * 16);
          HALFBYTE_UNROLL
          for (int p = 0; p < P; p++) {
            const F weight = setF(e[p][t]);
            HALFBYTE_UNROLL
            for (int j = 0; j < J; j++) acc[p][j] = acc[p][j] + weight * row[j];
          }
        }
      } else {
        // What stands outside a span may be left from another sequence: it must not be touched, not even times 0.
        HALFBYTE_UNROLL
        for (int p = 0; p < P; p++) {
          const int from = span[p0 + p].from(block), to = span[p0 + p].to(block);
          for (int t = from; t < to; t++) {
            const F weight = setF(e[p][t]);
            HALFBYTE_UNROLL
            for (int j = 0; j < J; j++) acc[p][j] = acc[p][j] + weight * loadCached(v + t * D + j * 16);
          }
        }
      }
    }
    HALFBYTE_UNROLL
    for (int p = 0; p < P; p++)
      HALFBYTE_UNROLL
      for (int j = 0; j < J; j++)
        storeFirst(call.pair[p0 + p].out + d0 + j * 16, acc[p][j] / setF(z[p]), D - d0 - j * 16);
  }

  template <int P, int B>
  void attend(int p0) {
    scoreBlocks<P, B>(p0);
    float z[P];
    HALFBYTE_UNROLL
    for (int p = 0; p < P; p++) z[p] = weigh(p0 + p);
    const int D = call.cache->headSize;
    int d = 0;
    for (; d + 48 < D; d += 64) sumValues<P, 4>(p0, d, z);
    for (; d + 16 < D; d += 32) sumValues<P, 2>(p0, d, z);
    for (; d < D; d += 16) sumValues<P, 1>(p0, d, z);
  }
};

template <class T>
static void attendAll(const AttentionCall& call) {
  Attention<T> work(call);
  int p = 0;
  for (; p + 4 <= call.pairs; p += 4) work.template attend<4, 2>(p);
  if (p + 3 == call.pairs) return work.template attend<3, 2>(p);
  if (p + 2 <= call.pairs) work.template attend<2, 4>(p), p += 2;
  if (p < call.pairs) work.template attend<1, 8>(p);
}

static void attention(const AttentionCall& call) {
  if (call.cache->f32)
    attendAll<float>(call);
  else
    attendAll<uint16_t>(call);
}

}  // namespace halfbyte::HALFBYTE_ISA
