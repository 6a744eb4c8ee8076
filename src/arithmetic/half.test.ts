import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bf16ToF32, f16ToF32, f32ToBf16, f32ToF16 } from "./half.ts";

/** By the definition of the format: fraction and exponent as exact f64 products. */
function f16ByDefinition(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25);
}

function bf16ByDefinition(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 7) & 0xff;
  const fraction = bits & 0x7f;
  if (exponent === 255) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return exponent === 0 ? sign * fraction * 2 ** -133 : sign * (128 + fraction) * 2 ** (exponent - 134);
}

/** Calls `check` with the value exactly between two neighbours and with the f32 values just below and above it. */
function aroundMidpoint(low: number, high: number, check: (x: number, side: -1 | 0 | 1) => void): void {
  const float = new Float32Array([(low + high) / 2]);
  const word = new Int32Array(float.buffer);
  const middle = word[0]!;
  for (const side of [-1, 0, 1] as const) {
    word[0] = middle + side;
    check(float[0]!, side);
  }
}

const allBits: number[] = Array.from({ length: 65536 }, (_, bits) => bits);
const wrong = (test: (bits: number) => boolean): number[] => allBits.filter((bits) => !test(bits));

describe("f16", () => {
  it("reads all 65,536 values as the format defines them", () => {
    expect(wrong((bits) => Object.is(f16ToF32(bits), f16ByDefinition(bits)))).toEqual([]);
  });

  it("writes back every value it reads; infinities saturate and NaN becomes 0x7e00", () => {
    const back = (bits: number): number => {
      if ((bits & 0x7c00) !== 0x7c00) return bits;
      return bits & 0x3ff ? 0x7e00 : (bits & 0x8000) | 0x7bff;
    };
    expect(wrong((bits) => f32ToF16(f16ToF32(bits)) === back(bits))).toEqual([]);
  });

  it("rounds to nearest, ties to even, between all finite neighbours of both signs", () => {
    for (const sign of [0, 0x8000]) {
      for (let bits = 0; bits < 0x7bff; bits++) {
        const even = bits & 1 ? bits + 1 : bits;
        aroundMidpoint(f16ByDefinition(sign | bits), f16ByDefinition(sign | (bits + 1)), (x, side) => {
          const nearest = side === 0 ? even : side < 0 ? bits : bits + 1;
          if (f32ToF16(x) !== (sign | nearest)) expect.fail(`${x}: ${f32ToF16(x)} is not ${sign | nearest}`);
        });
      }
    }
  });

  it("saturates past 65504", () => {
    for (const x of [65504, 65519.996, 65520, 65536, 3.4e38, Number.POSITIVE_INFINITY]) {
      expect(f32ToF16(x)).toBe(0x7bff);
      expect(f32ToF16(-x)).toBe(0xfbff);
    }
  });

  it("keeps the sign of zero and of what rounds to zero", () => {
    expect([0, -0, 2 ** -25, -(2 ** -25), 1e-45, -1e-45].map(f32ToF16)).toEqual([0, 0x8000, 0, 0x8000, 0, 0x8000]);
  });
});

describe("bf16", () => {
  it("reads all 65,536 values as the format defines them", () => {
    expect(wrong((bits) => Object.is(bf16ToF32(bits), bf16ByDefinition(bits)))).toEqual([]);
  });

  it("writes back every value it reads; NaN becomes 0x7fc0", () => {
    const isNaNBits = (bits: number): boolean => (bits & 0x7fff) > 0x7f80;
    expect(wrong((bits) => f32ToBf16(bf16ToF32(bits)) === (isNaNBits(bits) ? 0x7fc0 : bits))).toEqual([]);
  });

  it("rounds to nearest, ties to even, between all finite neighbours of both signs", () => {
    for (const sign of [0, 0x8000]) {
      for (let bits = 0; bits < 0x7f7f; bits++) {
        const even = bits & 1 ? bits + 1 : bits;
        aroundMidpoint(bf16ByDefinition(sign | bits), bf16ByDefinition(sign | (bits + 1)), (x, side) => {
          const nearest = side === 0 ? even : side < 0 ? bits : bits + 1;
          if (f32ToBf16(x) !== (sign | nearest)) expect.fail(`${x}: ${f32ToBf16(x)} is not ${sign | nearest}`);
        });
      }
    }
  });

  it("rounds the largest f32 values to infinity", () => {
    expect(f32ToBf16(3.4028234663852886e38)).toBe(0x7f80);
    expect(f32ToBf16(-3.4028234663852886e38)).toBe(0xff80);
  });
});

it("is monotonic and never more than half a step away", () => {
  fc.assert(
    fc.property(fc.float({ noNaN: true, min: -65504, max: 65504 }), (x) => {
      const bits = f32ToF16(x);
      const error = Math.abs(f16ToF32(bits) - x);
      for (const neighbour of [bits - 1, bits + 1]) {
        if ((neighbour & 0x7c00) !== 0x7c00 && neighbour >= 0) {
          expect(error).toBeLessThanOrEqual(Math.abs(f16ToF32(neighbour) - x));
        }
      }
    }),
  );
});
