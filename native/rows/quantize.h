#pragma once
// Activation quantisation, arithmetic rule 3. Included inside a target region.

namespace halfbyte::HALFBYTE_ISA {

/** Below this a group is all zeros: its scale would be no normal number. */
constexpr float kSmallestAmax = 1e-30f;

/** 16 codes; NaN gives 0. */
HALFBYTE_INLINE I quantizedCodes(F x, F inverse, float largest) {
  const F magic = setF(12582912.0f);
  const F rounded = (x * inverse + magic) - magic;
  const F held = larger(setF(-largest), smaller(setF(largest), rounded));
  return toInt(select(ordered(rounded), held, setF(0.0f)));
}

static void quantize(const float* x, uint8_t* row, const QuantizedShape& shape) {
  const int K = shape.K;
  uint8_t* high = row;
  uint8_t* low = row + shape.paddedK;
  float* scales = reinterpret_cast<float*>(row + shape.scaleAt);
  int32_t* sums = reinterpret_cast<int32_t*>(row + shape.sumAt);
  I runSum = setI(0);
  int runLeft = shape.run;
  for (int first = 0; first < K; first += shape.group) {
    const int end = K - first < shape.group ? K : first + shape.group;
    // As integers magnitudes compare like floats, and a NaN is above all of them.
    I top = setI(0);
    for (int k = first; k < end; k += 16) top = larger(top, bitsOf(absolute(loadFirst(x + k, end - k))));
    const float amax = floatFromBits(static_cast<uint32_t>(largest(top)));
    const bool zero = amax < kSmallestAmax;
    const F inverse = setF(zero ? 0.0f : shape.largest / amax);
    *scales++ = zero ? 0.0f : amax / shape.largest;
    for (int k = first; k < end; k += 16) {
      const I codes = quantizedCodes(loadFirst(x + k, end - k), inverse, shape.largest);
      if (shape.a16) {
        storeBytes(high + k, shiftRightSigned<8>(codes));
        storeBytes(low + k, codes);
      } else {
        storeBytes(high + k, codes);
      }
      runSum = runSum + codes;
      runLeft -= 16;
      if (runLeft <= 0 || k + 16 >= K) {
        *sums++ = sum(runSum);
        runSum = setI(0);
        runLeft = shape.run;
      }
    }
  }
  for (int k = (K + 15) & ~15; k < shape.paddedK; k += 16) {
    storeBytes(high + k, setI(0));
    if (shape.a16) storeBytes(low + k, setI(0));
  }
}

}  // namespace halfbyte::HALFBYTE_ISA
