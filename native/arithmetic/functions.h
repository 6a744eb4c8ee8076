#pragma once
// The functions of src/arithmetic/functions.ts on sixteen lanes: the same operations in the same order, the same
// coefficients. Included inside a target region.

namespace halfbyte::HALFBYTE_ISA {

HALFBYTE_INLINE F absolute(F x) { return floatOfBits(bitsOf(x) & setI(0x7fffffff)); }
HALFBYTE_INLINE F negative(F x) { return floatOfBits(bitsOf(x) ^ setI(INT32_MIN)); }

/** Coefficients from the highest power down. */
template <int n>
HALFBYTE_INLINE F polynomial(F x, const float (&c)[n]) {
  F p = setF(c[0]) * x + setF(c[1]);
  for (int i = 2; i < n; i++) p = p * x + setF(c[i]);
  return p;
}

constexpr float kExp[] = {0.001383878057822585f, 0.00836919154971838f, 0.04166810214519501f, 0.16666516661643982f,
                          0.4999999403953552f};

HALFBYTE_INLINE F exponential(F x) {
  const F magic = setF(12582912.0f);
  const F shifted = x * setF(1.4426950216293335f) + magic;
  const F n = shifted - magic;
  const F r = (x - n * setF(0.693359375f)) - n * setF(-0.00021219444170128554f);
  const F sum = (polynomial(r, kExp) * (r * r) + r) + setF(1.0f);
  const F scaled = floatOfBits(bitsOf(sum) + shiftLeft<23>(bitsOf(shifted)));
  const F finite = select(x < setF(-87.33654022216797f), setF(0.0f), scaled);
  return select(x <= setF(88.72283172607422f), finite, x + setF(__builtin_inff()));
}

constexpr float kTanh[] = {-0.005692296661436558f, 0.02062816731631756f, -0.05373651534318924f, 0.13331405818462372f,
                           -0.3333328068256378f};

HALFBYTE_INLINE F hyperbolicTangent(F x) {
  const F one = setF(1.0f), a = absolute(x), z = x * x;
  const F near = x + (polynomial(z, kTanh) * z) * x;
  const F far = one - setF(2.0f) / (exponential(a + a) + one);
  return select(a < setF(0.625f), near, select(x < setF(0.0f), negative(far), far));
}

HALFBYTE_INLINE F sigmoid(F x) { return setF(1.0f) / (setF(1.0f) + exponential(negative(x))); }

HALFBYTE_INLINE F silu(F x) { return x / (setF(1.0f) + exponential(negative(x))); }

HALFBYTE_INLINE F geluTanh(F x) {
  const F u = x * (setF(0.07135481387376785f) * (x * x) + setF(1.595769166946411f));
  return x / (setF(1.0f) + exponential(negative(u)));
}

constexpr float kErfc[] = {-0.13386644423007965f, 0.4603625237941742f,  -0.33859559893608093f, 0.3857029974460602f,
                           0.06487943232059479f,  0.1929500252008438f, 0.18338407576084137f,  0.18518297374248505f};

HALFBYTE_INLINE F complementaryErf(F a) {
  const F t = setF(1.0f) / (setF(0.328125f) * a + setF(1.0f));
  return (polynomial(t, kErfc) * t) * exponential(negative(a * a));
}

HALFBYTE_INLINE F geluErf(F x) {
  const F tail = setF(0.5f) * complementaryErf(absolute(x) * setF(0.7071067690849304f));
  return x * select(x < setF(0.0f), tail, setF(1.0f) - tail);
}

}  // namespace halfbyte::HALFBYTE_ISA
