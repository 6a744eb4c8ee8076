#include "ggml_types.h"

#include <cstring>

namespace halfbyte {

namespace {

// Layouts of blocks: ggml-common.h of llama.cpp.

uint16_t half(const uint8_t* p) {
  uint16_t bits;
  std::memcpy(&bits, p, 2);
  return bits;
}

/** All low nibbles of n bytes, then all high ones. */
void nibbles(const uint8_t* p, int n, uint8_t* codes) {
  for (int i = 0; i < n; i++) {
    codes[i] = p[i] & 15;
    codes[n + i] = p[i] >> 4;
  }
}

/** Bit i of a u32 is worth 16 in code i. */
void fifthBits(const uint8_t* p, uint8_t* codes) {
  uint32_t bits;
  std::memcpy(&bits, p, 4);
  for (int i = 0; i < 32; i++) codes[i] |= (bits >> i & 1) << 4;
}

/** 64 bytes of 2-bit codes: in each half, inputs 32·s + i in bits 2s of byte i. */
void pairs(const uint8_t* p, uint8_t* codes) {
  for (int h = 0; h < 2; h++, p += 32)
    for (int shift = 0; shift < 8; shift += 2)
      for (int i = 0; i < 32; i++) *codes++ = p[i] >> shift & 3;
}

/** 12 bytes of eight 6-bit scales and mins. */
void scalesAndMins(const uint8_t* p, int index, const Column& to) {
  for (int g = 0; g < 8; g++) {
    const int low = g < 4 ? p[g] & 63 : (p[g + 4] & 15) | (p[g - 4] >> 6) << 4;
    const int min = g < 4 ? p[g + 4] & 63 : p[g + 4] >> 4 | (p[g] >> 6) << 4;
    to.scale8(index * 8 + g, low);
    to.offset8(index * 8 + g, min);
  }
}

void q4_0(const uint8_t* p, int index, uint8_t* codes, const Column& to) {
  to.scale16(index, half(p));
  nibbles(p + 2, 16, codes);
}

void q4_1(const uint8_t* p, int index, uint8_t* codes, const Column& to) {
  to.scale16(index, half(p));
  to.offset16(index, half(p + 2));
  nibbles(p + 4, 16, codes);
}

void q5_0(const uint8_t* p, int index, uint8_t* codes, const Column& to) {
  to.scale16(index, half(p));
  nibbles(p + 6, 16, codes);
  fifthBits(p + 2, codes);
}

void q5_1(const uint8_t* p, int index, uint8_t* codes, const Column& to) {
  to.scale16(index, half(p));
  to.offset16(index, half(p + 2));
  nibbles(p + 8, 16, codes);
  fifthBits(p + 4, codes);
}

void q8_0(const uint8_t* p, int index, uint8_t* codes, const Column& to) {
  to.scale16(index, half(p));
  for (int i = 0; i < 32; i++) codes[i] = p[2 + i] ^ 0x80;
}

/** The exponent e of 2^(e − 128), as bf16: the two smallest are subnormal. */
void mxfp4(const uint8_t* p, int index, uint8_t* codes, const Column& to) {
  const int e = p[0];
  to.scale16(index, static_cast<uint16_t>(e < 2 ? 0x20 << e : (e - 1) << 7));
  nibbles(p + 1, 16, codes);
}

void q2_k(const uint8_t* p, int index, uint8_t* codes, const Column& to) {
  for (int g = 0; g < 16; g++) {
    to.scale8(index * 16 + g, p[g] & 15);
    to.offset8(index * 16 + g, p[g] >> 4);
  }
  pairs(p + 16, codes);
  to.superScale(index, half(p + 80));
  to.superOffset(index, half(p + 82));
}

void q3_k(const uint8_t* p, int index, uint8_t* codes, const Column& to) {
  pairs(p + 32, codes);
  for (int part = 0; part < 8; part++)
    for (int i = 0; i < 32; i++) codes[part * 32 + i] |= (p[i] >> part & 1) << 2;
  const uint8_t* s = p + 96;
  for (int g = 0; g < 16; g++) {
    const int low = g < 8 ? s[g] & 15 : s[g - 8] >> 4, high = s[8 + (g & 3)] >> (2 * (g >> 2)) & 3;
    to.scale8(index * 16 + g, (low | high << 4) - 32);
  }
  to.superScale(index, half(p + 108));
}

void q4_k(const uint8_t* p, int index, uint8_t* codes, const Column& to) {
  to.superScale(index, half(p));
  to.superOffset(index, half(p + 2));
  scalesAndMins(p + 4, index, to);
  for (int part = 0; part < 4; part++) nibbles(p + 16 + part * 32, 32, codes + part * 64);
}

void q5_k(const uint8_t* p, int index, uint8_t* codes, const Column& to) {
  to.superScale(index, half(p));
  to.superOffset(index, half(p + 2));
  scalesAndMins(p + 4, index, to);
  for (int part = 0; part < 4; part++) nibbles(p + 48 + part * 32, 32, codes + part * 64);
  for (int part = 0; part < 8; part++)
    for (int i = 0; i < 32; i++) codes[part * 32 + i] |= (p[16 + i] >> part & 1) << 4;
}

void q6_k(const uint8_t* p, int index, uint8_t* codes, const Column& to) {
  for (int h = 0; h < 2; h++) {
    const uint8_t *low = p + h * 64, *high = p + 128 + h * 32;
    uint8_t* out = codes + h * 128;
    for (int i = 0; i < 32; i++) {
      const int top = high[i];
      out[i] = static_cast<uint8_t>((low[i] & 15) | (top & 3) << 4);
      out[32 + i] = static_cast<uint8_t>((low[32 + i] & 15) | (top & 12) << 2);
      out[64 + i] = static_cast<uint8_t>(low[i] >> 4 | (top & 48));
      out[96 + i] = static_cast<uint8_t>(low[32 + i] >> 4 | (top & 192) >> 2);
    }
  }
  for (int g = 0; g < 16; g++) to.scale8(index * 16 + g, p[192 + g]);
  to.superScale(index, half(p + 208));
}

void iq4_xs(const uint8_t* p, int index, uint8_t* codes, const Column& to) {
  const int high = half(p + 2);
  for (int g = 0; g < 8; g++) {
    const int low = p[4 + g / 2] >> (4 * (g & 1)) & 15;
    to.scale8(index * 8 + g, (low | (high >> (2 * g) & 3) << 4) - 32);
    nibbles(p + 8 + g * 16, 16, codes + g * 32);
  }
  to.superScale(index, half(p));
}

constexpr Kind kNone = Kind::none, kF16 = Kind::f16, kU8 = Kind::two_level_u8, kI8 = Kind::two_level_i8;
constexpr GgmlType kTypes[] = {
    {0, 1, 4, 0, 0, Kind::f32, kNone, false, nullptr},   {1, 1, 2, 0, 0, kF16, kNone, false, nullptr},
    {30, 1, 2, 0, 0, Kind::bf16, kNone, false, nullptr}, {2, 32, 18, 4, 32, kF16, kNone, false, q4_0},
    {3, 32, 20, 4, 32, kF16, kF16, false, q4_1},         {6, 32, 22, 5, 32, kF16, kNone, false, q5_0},
    {7, 32, 24, 5, 32, kF16, kF16, false, q5_1},         {8, 32, 34, 8, 32, kF16, kNone, false, q8_0},
    {10, 256, 84, 4, 16, kU8, kU8, false, q2_k},         {11, 256, 110, 4, 16, kI8, kNone, false, q3_k},
    {12, 256, 144, 4, 32, kU8, kU8, false, q4_k},        {13, 256, 176, 5, 32, kU8, kU8, false, q5_k},
    {14, 256, 210, 6, 16, kI8, kNone, false, q6_k},      {20, 32, 18, 4, 32, kF16, kNone, true, q4_0},
    {23, 256, 136, 4, 32, kI8, kNone, true, iq4_xs},     {39, 32, 17, 4, 32, Kind::bf16, kNone, true, mxfp4},
};

}  // namespace

const GgmlType* ggmlType(int id) {
  for (const GgmlType& type : kTypes)
    if (type.id == id) return &type;
  return nullptr;
}

}  // namespace halfbyte
