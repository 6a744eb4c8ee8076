import { describe, expect, it } from "vitest";
import { cos64, exp64, log64, pow64, sin64, sinCos64 } from "./functions64.ts";

/** Relative; 4.5 units of 2^-53. `Math` itself is allowed one or two of them, and ours keep within two. */
const RELATIVE_TOLERANCE = 5e-16;
/** Absolute, of values up to 1: half a unit each for the two last sums of the reduction, the polynomial and `Math`. */
const TRIGONOMETRIC_TOLERANCE = 4e-16;

function uniforms(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function worstRelative(count: number, pair: (uniform: () => number) => [got: number, want: number]): number {
  const uniform = uniforms(7);
  let worst = 0;
  for (let i = 0; i < count; i++) {
    const [got, want] = pair(uniform);
    if (got !== want) worst = Math.max(worst, Math.abs(got - want) / Math.abs(want));
  }
  return worst;
}

describe("the f64 functions", () => {
  it("exp agrees with the engine's wherever the result is normal", () => {
    const worst = worstRelative(500_000, (uniform) => {
      const x = uniform() * 1417 - 708;
      return [exp64(x), Math.exp(x)];
    });
    expect(worst).toBeLessThan(RELATIVE_TOLERANCE);
  });

  it("exp has its limits", () => {
    expect(exp64(0)).toBe(1);
    expect(exp64(709.782712893384)).toBe(Infinity);
    expect(exp64(709.78)).toBeLessThan(Infinity);
    expect(exp64(-746)).toBe(0);
    expect(exp64(-745)).toBe(5e-324);
    expect(exp64(Infinity)).toBe(Infinity);
    expect(exp64(-Infinity)).toBe(0);
    expect(exp64(NaN)).toBeNaN();
  });

  it("log agrees with the engine's, near 1 too", () => {
    const wide = worstRelative(300_000, (uniform) => {
      const x = 2 ** (uniform() * 2000 - 1000) * (1 + uniform());
      return [log64(x), Math.log(x)];
    });
    const near = worstRelative(300_000, (uniform) => {
      const x = 1 + (uniform() + 2 ** -33 - 0.5) * 2 ** -Math.floor(uniform() * 40);
      return [log64(x), Math.log(x)];
    });
    expect(wide).toBeLessThan(RELATIVE_TOLERANCE);
    expect(near).toBeLessThan(RELATIVE_TOLERANCE);
  });

  it("log has its limits", () => {
    expect(log64(1)).toBe(0);
    expect(log64(0)).toBe(-Infinity);
    expect(log64(-1)).toBeNaN();
    expect(log64(NaN)).toBeNaN();
    expect(log64(Infinity)).toBe(Infinity);
    expect(log64(5e-324)).toBeCloseTo(Math.log(5e-324), 12);
  });

  it("pow agrees with the engine's on the bases and exponents of rotary embeddings and beyond", () => {
    const worst = worstRelative(300_000, (uniform) => {
      const base = 10 ** (uniform() * 16 - 8);
      const exponent = uniform() * 20 - 10;
      return [pow64(base, exponent), base ** exponent];
    });
    expect(worst).toBeLessThan(RELATIVE_TOLERANCE);
  });

  it("pow has its limits", () => {
    expect(pow64(10000, 0)).toBe(1);
    expect(pow64(2, 10)).toBe(1024);
    expect(pow64(10, 400)).toBe(Infinity);
    expect(pow64(10, -400)).toBe(0);
    for (const [base, exponent] of [
      [0, 1],
      [-2, 2],
      [NaN, 1],
      [2, NaN],
      [Infinity, 1],
      [2, Infinity],
    ] as const) {
      expect(pow64(base, exponent)).toBeNaN();
    }
  });

  it("sin and cos agree with the engine's for arguments of up to 1.6e6", () => {
    const uniform = uniforms(11);
    const out = new Float64Array(2);
    let worst = 0;
    for (let i = 0; i < 500_000; i++) {
      const x = (uniform() * 2 - 1) * 1.6e6 * 2 ** -Math.floor(uniform() * 40);
      sinCos64(x, out);
      worst = Math.max(worst, Math.abs(out[0]! - Math.sin(x)), Math.abs(out[1]! - Math.cos(x)));
    }
    // Integers are what a first frequency of 1 gives: the position itself.
    for (let x = 0; x < 2 ** 20; x += 7) {
      sinCos64(x, out);
      worst = Math.max(worst, Math.abs(out[0]! - Math.sin(x)), Math.abs(out[1]! - Math.cos(x)));
    }
    expect(worst).toBeLessThan(TRIGONOMETRIC_TOLERANCE);
  });

  it("sin and cos have the right sign in every quarter, and their limits", () => {
    for (let k = -9; k <= 9; k++) {
      const x = k * 0.7853981633974483 + 0.1;
      expect(sin64(x)).toBeCloseTo(Math.sin(x), 14);
      expect(cos64(x)).toBeCloseTo(Math.cos(x), 14);
    }
    expect([sin64(0), cos64(0)]).toEqual([0, 1]);
    for (const x of [NaN, Infinity, -Infinity, 2 ** 31]) expect([sin64(x), cos64(x)]).toEqual([NaN, NaN]);
  });

  it("has the bits that every engine must give", () => {
    const bits = (x: number): string => {
      const view = new DataView(new ArrayBuffer(8));
      view.setFloat64(0, x);
      return view.getBigUint64(0).toString(16).padStart(16, "0");
    };
    let hash = 0n;
    const uniform = uniforms(3);
    const mix = (x: number): void => {
      hash = (hash * 31n + BigInt(`0x${bits(x)}`)) & 0xffffffffffffffffn;
    };
    for (let i = 0; i < 20_000; i++) {
      const u = uniform();
      mix(exp64(u * 1500 - 750));
      mix(log64(u * 1000));
      mix(pow64(1 + u * 1e6, u - 0.5));
      mix(sin64(u * 1e6));
      mix(cos64(u * 1e6));
    }
    expect(hash.toString(16)).toMatchInlineSnapshot(`"22d6cccf486e007"`);
  });
});
