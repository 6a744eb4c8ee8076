#pragma once
// 64 bytes in an array. Included with the scalar lanes.

namespace halfbyte::HALFBYTE_ISA {

struct U {
  uint8_t v[64];
};
struct X {
  uint8_t v[4];
};

template <class Op>
HALFBYTE_INLINE U eachByte(Op op) {
  U out;
  for (int i = 0; i < 64; i++) out.v[i] = static_cast<uint8_t>(op(i));
  return out;
}

HALFBYTE_INLINE U loadU(const uint8_t* p) { return eachByte([&](int i) { return p[i]; }); }
HALFBYTE_INLINE U bytes(int x) { return eachByte([&](int) { return x; }); }
HALFBYTE_INLINE U nibbleMask() { return bytes(15); }
HALFBYTE_INLINE U operator&(U x, U y) { return eachByte([&](int i) { return x.v[i] & y.v[i]; }); }
HALFBYTE_INLINE U operator|(U x, U y) { return eachByte([&](int i) { return x.v[i] | y.v[i]; }); }
HALFBYTE_INLINE U operator^(U x, U y) { return eachByte([&](int i) { return x.v[i] ^ y.v[i]; }); }
// Callers mask away what 16-bit shifts elsewhere bring in from the neighbouring byte.
template <int n>
HALFBYTE_INLINE U shiftRight16(U x) {
  return eachByte([&](int i) { return x.v[i] >> n; });
}
template <int n>
HALFBYTE_INLINE U moveBits16(U x) {
  if constexpr (n >= 0) return eachByte([&](int i) { return x.v[i] << n; });
  return eachByte([&](int i) { return x.v[i] >> (n < 0 ? -n : 0); });
}
HALFBYTE_INLINE U repeat16(const int8_t* p) { return eachByte([&](int i) { return p[i & 15]; }); }
HALFBYTE_INLINE U lookUp(U table, U index) { return eachByte([&](int i) { return table.v[index.v[i] & 15]; }); }
HALFBYTE_INLINE void prefetch(const uint8_t*) {}

HALFBYTE_INLINE X four(const uint8_t* p) {
  X out;
  std::memcpy(out.v, p, 4);
  return out;
}
HALFBYTE_INLINE I dotSigned(I acc, U w, X x) {
  for (int l = 0; l < 16; l++)
    for (int i = 0; i < 4; i++) acc.v[l] += w.v[4 * l + i] * static_cast<int8_t>(x.v[i]);
  return acc;
}
HALFBYTE_INLINE I dotUnsigned(I acc, X x, U w) {
  for (int l = 0; l < 16; l++)
    for (int i = 0; i < 4; i++) acc.v[l] += x.v[i] * static_cast<int8_t>(w.v[4 * l + i]);
  return acc;
}

}  // namespace halfbyte::HALFBYTE_ISA
