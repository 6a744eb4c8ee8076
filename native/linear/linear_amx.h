#pragma once
// Many rows by AMX tiles. The codes of two blocks are unpacked once: quads of inputs by outputs are a tile's right side
// as they stand in the packed layout, rows of activations its left side as they stand in the arena. After each run the
// integer sums leave the tiles and are scaled in AVX-512. Included inside a target region.

namespace halfbyte::HALFBYTE_ISA {

/** Blocks at once: with one, each tile of activations would serve a single product. */
constexpr int kPair = 2;

/** Rows at once: two tiles of 8-bit activations, or one tile each of high and low bytes. */
template <bool a16>
constexpr int kRowsAtOnce = a16 ? 16 : 32;

/** Inputs in one tile: as many as divide every run, so that none crosses a scale. */
static int tileInputs(const LinearCall& c) {
  const int K = c.shape->K;
  if (c.run >= K) {
    for (const int inputs : {64, 32})
      if (c.shape->paddedK % inputs == 0) return inputs;
  }
  const int tail = (K % c.run + 15) & ~15;
  for (const int inputs : {64, 48, 32})
    if (c.run % inputs == 0 && tail % inputs == 0) return inputs;
  return 16;
}

template <class Codes, int i = 0>
HALFBYTE_INLINE void unpackOctets(const Matrix& w, const uint8_t* block, size_t octet, uint8_t* to) {
  U first, second;
  Codes::template decode<i>(w, block, octet + i, first, second);
  storeU(to + (octet + i) * 128, first);
  storeU(to + (octet + i) * 128 + 64, second);
  if constexpr (i + 1 < Codes::kOctets) unpackOctets<Codes, i + 1>(w, block, octet, to);
}

/** Scratch of a thread, in this order; all of it in 64-byte units. */
struct TileScratch {
  /** [2 blocks][quads][64] codes. */
  uint8_t* codes;
  /** [2][groups][16] scales, the same of offsets. */
  float* values;
  /** [32 rows][2 blocks][16]. */
  float* sums;
  /** [4 tiles][16 rows][16]. */
  int32_t* integers;

  TileScratch(const Matrix& w, float* scratch) {
    codes = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(scratch) + 63) & ~uintptr_t{63});
    values = reinterpret_cast<float*>(codes + static_cast<size_t>(w.paddedK) * 16 * kPair);
    sums = values + static_cast<size_t>(w.groups) * 32 * kPair;
    integers = reinterpret_cast<int32_t*>(sums + 32 * kPair * 16);
  }
  static size_t bytes(const Matrix& w) {
    return 64 + static_cast<size_t>(w.paddedK) * 16 * kPair + static_cast<size_t>(w.groups) * 128 * kPair +
           32 * kPair * 64 + 4 * 16 * 64;
  }
};

/** Tiles 0 to 3 are sums, 4 and 5 activations, 6 and 7 codes. */
static TileShapes shapesFor(int firstRows, int secondRows, int inputs) {
  TileShapes shapes;
  const auto set = [&](int tile, int rows, int bytes) {
    shapes.rows[tile] = static_cast<uint8_t>(rows);
    shapes.rowBytes[tile] = static_cast<uint16_t>(bytes);
  };
  for (int b = 0; b < kPair; b++) {
    set(b, firstRows, 64);
    set(2 + b, secondRows, 64);
    set(6 + b, inputs / 4, 64);
  }
  set(4, firstRows, inputs);
  set(5, secondRows, inputs);
  return shapes;
}

/** Integer sums of one run, in `integers`: for 8 bits of two tiles of rows, for 16 bits of high and low bytes. */
template <bool a16>
HALFBYTE_INLINE void sumRun(const LinearCall& c, const TileScratch& scratch, int m, int first, int end, int inputs,
                            bool both) {
  const size_t panel = static_cast<size_t>(c.matrix->paddedK) * 16, stride = c.x.stride;
  zeroTile<0>();
  zeroTile<1>();
  if (both) {
    zeroTile<2>();
    zeroTile<3>();
  }
  for (int k = first; k < end; k += inputs) {
    const uint8_t *x = c.x.bytes(m) + k, *codes = scratch.codes + static_cast<size_t>(k) * 16;
    loadTile<6>(codes, 64);
    loadTile<7>(codes + panel, 64);
    loadTile<4>(x, stride);
    dotSignedTiles<0, 4, 6>();
    dotSignedTiles<1, 4, 7>();
    if (!both) continue;
    if constexpr (a16) {
      loadTile<5>(x + c.shape->paddedK, stride);
      dotUnsignedTiles<2, 5, 6>();
      dotUnsignedTiles<3, 5, 7>();
    } else {
      loadTile<5>(x + 16 * stride, stride);
      dotSignedTiles<2, 5, 6>();
      dotSignedTiles<3, 5, 7>();
    }
  }
  storeTile<0>(scratch.integers, 64);
  storeTile<1>(scratch.integers + 256, 64);
  if (both) {
    storeTile<2>(scratch.integers + 512, 64);
    storeTile<3>(scratch.integers + 768, 64);
  }
}

HALFBYTE_INLINE I loadInts(const int32_t* p) { return {_mm512_load_si512(p)}; }

/** Rows from m, at most `kRowsAtOnce`, of the unpacked blocks. */
template <bool a16>
static void tileRows(const LinearCall& c, const TileScratch& scratch, int m, int rows, int block, int blocks) {
  const Matrix& w = *c.matrix;
  const QuantizedShape& shape = *c.shape;
  const int K = shape.K, run = c.run, perRun = ratio(run, shape.run), inputs = tileInputs(c);
  const int zero = w.zero + (w.hasCodeBook ? 128 : 0);
  const bool hasOffset = w.offset != Kind::none;
  const int secondRows = a16 ? rows : rows > 16 ? rows - 16 : 0;
  const size_t valueStride = static_cast<size_t>(w.groups) * 32;
  // A shape of no rows would be refused, though its tile is not used.
  setShapes(shapesFor(rows < 16 ? rows : 16, secondRows ? secondRows : 1, inputs));
  for (int i = 0; i < rows * kPair; i++) store(scratch.sums + i * 16, setF(0.0f));
  Counter group(ratio(w.groupSize, run)), active(ratio(shape.group, run));
  for (int j = 0, first = 0; first < K; j++, first += run) {
    const int end = K - first < run ? K : first + run;
    sumRun<a16>(c, scratch, m, first, end, inputs, secondRows > 0);
    for (int b = 0; b < blocks; b++) {
      const float* values = scratch.values + b * valueStride + group.index * 16;
      const F scale = load(values);
      F offset = scale;
      if (hasOffset) offset = load(values + w.groups * 16);
      I zeros = setI(zero);
      if (w.zeroPerGroup) zeros = zeros + loadU8(w.block(block + b) + w.zeroAt + group.index * 16);
      for (int r = 0; r < rows; r++) {
        const uint8_t* row = c.x.bytes(m + r);
        const int32_t codeSum = runSum(shape, row, j, perRun);
        const int32_t* integers = scratch.integers + b * 256 + (a16 || r < 16 ? r : r + 16) * 16;
        I t = loadInts(integers);
        if constexpr (a16) t = shiftLeft<8>(t) + loadInts(integers + 512);
        t = t - zeros * setI(codeSum);
        F u = scale * toFloat(t);
        if (hasOffset) u = u + offset * setF(static_cast<float>(codeSum));
        const float sx = reinterpret_cast<const float*>(row + shape.scaleAt)[active.index];
        float* sum = scratch.sums + (r * kPair + b) * 16;
        store(sum, load(sum) + u * setF(sx));
      }
    }
    group.next();
    active.next();
  }
  for (int r = 0; r < rows; r++)
    for (int b = 0; b < blocks; b++) finish(c, m + r, block + b, load(scratch.sums + (r * kPair + b) * 16));
}

template <class Codes>
static void tileLinearOf(const LinearCall& c) {
  const Matrix& w = *c.matrix;
  const TileScratch scratch(w, c.scratch);
  const size_t panel = static_cast<size_t>(w.paddedK) * 16, valueStride = static_cast<size_t>(w.groups) * 32;
  for (int block = c.firstBlock; block < c.endBlock; block += kPair) {
    const int blocks = c.endBlock - block < kPair ? 1 : kPair;
    for (int b = 0; b < blocks; b++) {
      const uint8_t* from = w.block(block + b);
      for (int octet = 0; octet < w.paddedK / 8; octet += Codes::kOctets)
        unpackOctets<Codes>(w, from, octet, scratch.codes + b * panel);
      convertValues(w, storedScales(w, from), false, scratch.values + b * valueStride);
      if (w.offset != Kind::none)
        convertValues(w, storedOffsets(w, from), subtracted(w.offset), scratch.values + b * valueStride + w.groups * 16);
    }
    if (c.shape->a16)
      for (int m = 0; m < c.M; m += kRowsAtOnce<true>)
        tileRows<true>(c, scratch, m, c.M - m < kRowsAtOnce<true> ? c.M - m : kRowsAtOnce<true>, block, blocks);
    else
      for (int m = 0; m < c.M; m += kRowsAtOnce<false>)
        tileRows<false>(c, scratch, m, c.M - m < kRowsAtOnce<false> ? c.M - m : kRowsAtOnce<false>, block, blocks);
  }
  releaseTiles();
}

static void tileLinear(const LinearCall& c) {
  const Matrix& w = *c.matrix;
  if (w.hasCodeBook) return tileLinearOf<CodeBook>(c);
  switch (w.bits) {
    case 4:
      return tileLinearOf<Nibbles>(c);
    case 5:
      return tileLinearOf<FiveBits>(c);
    case 6:
      return tileLinearOf<SixBits>(c);
    default:
      return tileLinearOf<EightBits>(c);
  }
}

}  // namespace halfbyte::HALFBYTE_ISA
