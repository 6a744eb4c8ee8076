import { HalfbyteError } from "../../errors.ts";

/** The four 32-bit words of a generator, as JSON can carry them. */
export type GeneratorState = readonly [number, number, number, number];

/**
 * xoshiro128** 1.1, seeded by splitmix32; 32-bit integer operations alone, so the same numbers on every engine.
 * Source: Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021.
 */
export class Generator {
  readonly #words = new Uint32Array(4);

  /** Takes a seed from 0 to 2^53 − 1. */
  constructor(seed: number) {
    // Both halves of the seed run through the mixer, so that near seeds start far apart.
    let counter = (seed >>> 0) ^ Math.imul(Math.floor(seed / 2 ** 32), 0x85ebca6b);
    for (let i = 0; i < 4; i++) {
      counter = (counter + 0x9e3779b9) | 0;
      let z = counter ^ (counter >>> 16);
      z = Math.imul(z, 0x21f0aaad);
      z ^= z >>> 15;
      z = Math.imul(z, 0x735a2d97);
      this.#words[i] = z ^ (z >>> 15);
    }
  }

  /** The next integer from 0 to 2^32 − 1. */
  nextInteger(): number {
    const s = this.#words;
    const product = Math.imul(s[1]!, 5);
    const result = Math.imul((product << 7) | (product >>> 25), 9) >>> 0;
    const shifted = s[1]! << 9;
    s[2]! ^= s[0]!;
    s[3]! ^= s[1]!;
    s[1]! ^= s[2]!;
    s[0]! ^= s[3]!;
    s[2]! ^= shifted;
    s[3] = (s[3]! << 11) | (s[3]! >>> 21);
    return result;
  }

  /** The next number in [0, 1), a multiple of 2^-53; takes two integers. */
  nextUniform(): number {
    const high = this.nextInteger() >>> 5;
    const low = this.nextInteger() >>> 6;
    return (high * 67108864 + low) / 9007199254740992;
  }

  get state(): GeneratorState {
    const [a, b, c, d] = this.#words;
    return [a!, b!, c!, d!];
  }

  /** Throws ERR_ARGUMENT for anything but four 32-bit integers that are not all zero. */
  set state(state: GeneratorState) {
    const valid =
      Array.isArray(state) &&
      state.length === 4 &&
      state.every((word) => Number.isInteger(word) && word >= 0 && word < 2 ** 32) &&
      state.some((word) => word !== 0);
    if (!valid) {
      throw new HalfbyteError("ERR_ARGUMENT", "not a state of this generator", {
        place: "state",
        expected: "four integers from 0 to 2^32 - 1, not all 0",
        got: JSON.stringify(state),
      });
    }
    this.#words.set(state);
  }
}

/** A seed from the platform's own source of randomness, 0 to 2^53 − 1. */
export function randomSeed(): number {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return (high! >>> 11) * 2 ** 32 + low!;
}
