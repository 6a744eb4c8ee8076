#pragma once
// Gated activations, additions and scaling, element by element. Included inside a target region. Rows have room up to a multiple
// of 16 numbers, so that there is no tail: what stands there is never read.

namespace halfbyte::HALFBYTE_ISA {

static void gate(const float* gate, const float* up, float* out, int width, GateKind kind) {
  switch (kind) {
    case GateKind::silu:
      for (int i = 0; i < width; i += 16) store(out + i, silu(load(gate + i)) * load(up + i));
      break;
    case GateKind::gelu_tanh:
      for (int i = 0; i < width; i += 16) store(out + i, geluTanh(load(gate + i)) * load(up + i));
      break;
    case GateKind::gelu_erf:
      for (int i = 0; i < width; i += 16) store(out + i, geluErf(load(gate + i)) * load(up + i));
      break;
  }
}

static void add(const float* a, const float* b, float* out, int width) {
  for (int i = 0; i < width; i += 16) store(out + i, load(a + i) + load(b + i));
}

static void scale(float* x, int width, float multiplier, float softCap) {
  const F factor = setF(multiplier), cap = setF(softCap);
  for (int i = 0; i < width; i += 16) {
    const F scaled = load(x + i) * factor;
    store(x + i, softCap != 0.0f ? cap * hyperbolicTangent(scaled / cap) : scaled);
  }
}

static void headGate(const float* gate, const float* x, float* out, int heads, int headSize) {
  for (int h = 0; h < heads; h++, x += headSize, out += headSize) {
    const F factor = sigmoid(setF(gate[h]));
    for (int i = 0; i < headSize; i += 16)
      storeFirst(out + i, factor * loadFirst(x + i, headSize - i), headSize - i);
  }
}

}  // namespace halfbyte::HALFBYTE_ISA
