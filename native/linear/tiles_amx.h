#pragma once
// The tile registers of AMX, eight of up to 16 rows × 64 bytes. With HALFBYTE_EMULATE they are arrays, so that the
// kernel's arithmetic can be tested on CPUs without them. Included inside a target region.

namespace halfbyte::HALFBYTE_ISA {

struct alignas(64) TileShapes {
  uint8_t palette = 1, startRow = 0;
  uint8_t reserved[14] = {};
  uint16_t rowBytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileShapes) == 64);

#if defined(HALFBYTE_EMULATE)

struct EmulatedTiles {
  TileShapes shapes;
  uint8_t data[8][16][64];
};
static thread_local EmulatedTiles tiles;

inline void setShapes(const TileShapes& shapes) {
  tiles.shapes = shapes;
  std::memset(tiles.data, 0, sizeof tiles.data);
}
inline void releaseTiles() { tiles.shapes = {}; }
template <int t>
inline void zeroTile() {
  std::memset(tiles.data[t], 0, sizeof tiles.data[t]);
}
template <int t>
inline void loadTile(const void* from, size_t stride) {
  for (int r = 0; r < tiles.shapes.rows[t]; r++)
    std::memcpy(tiles.data[t][r], static_cast<const uint8_t*>(from) + r * stride, tiles.shapes.rowBytes[t]);
}
template <int t>
inline void storeTile(void* to, size_t stride) {
  for (int r = 0; r < tiles.shapes.rows[t]; r++)
    std::memcpy(static_cast<uint8_t*>(to) + r * stride, tiles.data[t][r], tiles.shapes.rowBytes[t]);
}
template <int c, int a, int b, class A>
inline void dotTiles() {
  for (int m = 0; m < tiles.shapes.rows[c]; m++)
    for (int n = 0; n < tiles.shapes.rowBytes[c] / 4; n++) {
      int32_t sum;
      std::memcpy(&sum, &tiles.data[c][m][4 * n], 4);
      for (int k = 0; k < tiles.shapes.rowBytes[a]; k++)
        sum += static_cast<A>(tiles.data[a][m][k]) * tiles.data[b][k / 4][4 * n + k % 4];
      std::memcpy(&tiles.data[c][m][4 * n], &sum, 4);
    }
}
template <int c, int a, int b>
inline void dotSignedTiles() {
  dotTiles<c, a, b, int8_t>();
}
template <int c, int a, int b>
inline void dotUnsignedTiles() {
  dotTiles<c, a, b, uint8_t>();
}

#else

// In assembly, since GCC's intrinsics take the number of a tile only as a literal.

HALFBYTE_INLINE void setShapes(const TileShapes& shapes) { __asm__ volatile("ldtilecfg %0" ::"m"(shapes)); }
HALFBYTE_INLINE void releaseTiles() { __asm__ volatile("tilerelease"); }
template <int t>
HALFBYTE_INLINE void zeroTile() {
  __asm__ volatile("tilezero %%tmm%c0" ::"i"(t));
}
template <int t>
HALFBYTE_INLINE void loadTile(const void* from, size_t stride) {
  __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(t) : "memory");
}
template <int t>
HALFBYTE_INLINE void storeTile(void* to, size_t stride) {
  __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride), "i"(t) : "memory");
}
/** c += a · b: a signed, b unsigned bytes. */
template <int c, int a, int b>
HALFBYTE_INLINE void dotSignedTiles() {
  __asm__ volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(c), "i"(a), "i"(b));
}
/** Both unsigned. */
template <int c, int a, int b>
HALFBYTE_INLINE void dotUnsignedTiles() {
  __asm__ volatile("tdpbuud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(c), "i"(a), "i"(b));
}

#endif

}  // namespace halfbyte::HALFBYTE_ISA
