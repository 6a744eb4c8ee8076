#include "embed.h"

#include "../arithmetic/half.h"

namespace halfbyte {

namespace {

uint16_t half(const uint8_t* p, size_t i) { return reinterpret_cast<const uint16_t*>(p)[i]; }

float stored(Kind kind, const uint8_t* p, size_t i) {
  if (kind == Kind::f32) return reinterpret_cast<const float*>(p)[i];
  return kind == Kind::f16 ? f16ToF32(half(p, i)) : bf16ToF32(half(p, i));
}

/** Scale or offset of output c and group g. */
float groupValue(const Matrix& w, Kind kind, const uint8_t* block, int at, int superAt, int g, int c) {
  const size_t i = static_cast<size_t>(g) * 16 + c;
  if (kind < Kind::two_level_u8) return stored(kind, block + at, i);
  const float top = f16ToF32(half(block + superAt, static_cast<size_t>(g / (w.superSize / w.groupSize)) * 16 + c));
  const uint8_t code = block[at + i];
  return top * static_cast<float>(kind == Kind::two_level_u8 ? int{code} : int{static_cast<int8_t>(code)});
}

int codeOf(const Matrix& w, const uint8_t* block, int k, int c) {
  const size_t byte = static_cast<size_t>(k >> 3) * 64 + 4 * c + (k & 3);
  const int shift = k & 4;
  const int low = block[byte] >> shift & 15;
  if (w.bits == 4) return low;
  const uint8_t* high = block + w.highAt;
  if (w.bits == 8) return low | (high[byte] >> shift & 15) << 4;
  const int width = w.bits - 4, quads = 8 / width, quad = k >> 2;
  const int word = high[static_cast<size_t>(quad / quads) * 64 + 4 * c + (k & 3)];
  return low | (word >> (width * (quad % quads)) & ((1 << width) - 1)) << 4;
}

}  // namespace

void embedRow(const Matrix& w, int n, float multiplier, float* out) {
  const uint8_t* block = w.block(n / 16);
  const int c = n % 16;
  if (!w.quantized) {
    for (int k = 0; k < w.K; k++) out[k] = stored(w.kind, block, static_cast<size_t>(k) * 16 + c);
  } else {
    for (int g = 0, k = 0; g < w.groups; g++) {
      const float scale = groupValue(w, w.kind, block, w.scaleAt, w.superScaleAt, g, c);
      float offset = 0;
      if (w.offset != Kind::none) {
        offset = groupValue(w, w.offset, block, w.offsetAt, w.superOffsetAt, g, c);
        if (w.offset >= Kind::two_level_u8) offset = -offset;
      }
      const int zero = w.zeroPerGroup ? block[w.zeroAt + g * 16 + c] : w.zero;
      const int end = w.K - k < w.groupSize ? w.K : k + w.groupSize;
      for (; k < end; k++) {
        const int code = codeOf(w, block, k, c);
        const float x = scale * static_cast<float>((w.hasCodeBook ? w.codeBook[code] : code) - zero);
        out[k] = w.offset == Kind::none ? x : x + offset;
      }
    }
  }
  if (multiplier != 1.0f)
    for (int k = 0; k < w.K; k++) out[k] = out[k] * multiplier;
}

}  // namespace halfbyte
