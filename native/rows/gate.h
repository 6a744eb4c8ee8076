#pragma once
// Gated activations and additions, element by element. Included inside a target region. Rows have room up to a multiple
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

}  // namespace halfbyte::HALFBYTE_ISA
