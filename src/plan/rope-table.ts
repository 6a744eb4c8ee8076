import { log64, pow64, sinCos64 } from "../arithmetic/functions64.ts";

/** Angles of a rotary embedding: position · base^(−2i / rotary), i < rotary / 2, changed by a scaling. */
export interface RopeSpec {
  /** Dims of a head that turn; the rest pass. */
  readonly rotary: number;
  readonly base: number;
  readonly scaling?: RopeScaling;
}

export type RopeScaling =
  /** All frequencies ÷ factor. */
  | { readonly type: "linear"; readonly factor: number }
  /** Llama 3.1: low frequencies ÷ factor, high ones kept, those between blended by wavelength. */
  | {
      readonly type: "llama3";
      readonly factor: number;
      readonly lowFrequencyFactor: number;
      readonly highFrequencyFactor: number;
      readonly originalContext: number;
    }
  /** One divisor per frequency, as a GGUF file's rope_freqs tensor has them; cosines and sines may be multiplied. */
  | { readonly type: "divisors"; readonly divisors: readonly number[]; readonly magnitude?: number }
  /** One divisor per frequency, `long` unless all positions lie within the original context. Phi-3's; arXiv 2402.13753. */
  | {
      readonly type: "longrope";
      readonly short: readonly number[];
      readonly long: readonly number[];
      readonly originalContext: number;
      readonly magnitude: number;
    }
  /**
   * YaRN: frequencies that turn less than `slow` times in the original context ÷ factor, those that turn more than `fast`
   * times kept, those between blended by their number; cosines and sines times `magnitude`. arXiv 2309.00071.
   */
  | {
      readonly type: "yarn";
      readonly factor: number;
      readonly fast: number;
      readonly slow: number;
      /** Whether the band's ends are whole numbers. */
      readonly truncated: boolean;
      readonly originalContext: number;
      readonly magnitude: number;
    };

/** Inverse frequencies in f64, [rotary / 2]. */
function inverseFrequencies(spec: RopeSpec): Float64Array {
  const half = spec.rotary / 2;
  const out = new Float64Array(half);
  const band = spec.scaling?.type === "yarn" ? yarnBand(spec, spec.scaling) : undefined;
  for (let i = 0; i < half; i++) {
    const frequency = 1 / pow64(spec.base, (2 * i) / spec.rotary);
    out[i] = band ? blended(frequency, i, band) : scaled(frequency, i, spec.scaling);
  }
  return out;
}

/** What scaling divides each frequency by, [rotary / 2]: how a GGUF file says any scaling. */
export function ropeDivisors({ rotary, base, scaling }: RopeSpec): Float64Array {
  const plain = inverseFrequencies({ rotary, base });
  return plain.map((frequency, i) => frequency / scaled(frequency, i, scaling));
}

/** Frequencies numbered from `low` to `high` are between kept and divided by `factor`. */
interface Band {
  readonly low: number;
  readonly high: number;
  readonly factor: number;
}

function yarnBand({ rotary, base }: RopeSpec, scaling: Extract<RopeScaling, { type: "yarn" }>): Band {
  const { factor, fast, slow, truncated, originalContext } = scaling;
  const turning = (times: number): number =>
    (rotary * log64(originalContext / (times * 2 * Math.PI))) / (2 * log64(base));
  const [low, high] = [turning(fast), turning(slow)];
  return {
    low: Math.max(0, truncated ? Math.floor(low) : low),
    high: Math.min(rotary - 1, truncated ? Math.ceil(high) : high),
    factor,
  };
}

function blended(frequency: number, i: number, { low, high, factor }: Band): number {
  // A band of no width is a step.
  const ramp = Math.min(1, Math.max(0, (i - low) / (high === low ? 0.001 : high - low)));
  return (frequency / factor) * ramp + frequency * (1 - ramp);
}

function scaled(frequency: number, i: number, scaling: RopeScaling | undefined): number {
  switch (scaling?.type) {
    case undefined:
    case "yarn":
      return frequency;
    case "linear":
      return frequency / scaling.factor;
    case "divisors":
      return frequency / scaling.divisors[i]!;
    case "longrope":
      return frequency / scaling.long[i]!;
    case "llama3": {
      const { factor, lowFrequencyFactor: low, highFrequencyFactor: high, originalContext } = scaling;
      const wavelength = (2 * Math.PI) / frequency;
      if (wavelength < originalContext / high) return frequency;
      if (wavelength > originalContext / low) return frequency / factor;
      const smooth = (originalContext / wavelength - low) / (high - low);
      return ((1 - smooth) * frequency) / factor + smooth * frequency;
    }
  }
}

/** Cosines and sines by position, made once and kept: arithmetic rule 6. */
export class RopeTable {
  readonly rotary: number;
  readonly #frequencies: Float64Array;
  readonly #magnitude: number;
  #rows: Float32Array;
  #known = 0;

  constructor(spec: RopeSpec) {
    this.rotary = spec.rotary;
    this.#frequencies = inverseFrequencies(spec);
    this.#magnitude = spec.scaling && "magnitude" in spec.scaling ? (spec.scaling.magnitude ?? 1) : 1;
    this.#rows = new Float32Array(64 * spec.rotary);
  }

  /** f32 [rotary]: cosines of all angles of the position, then sines. */
  row(position: number): Float32Array {
    if (position >= this.#known) this.#extend(position + 1);
    return this.#rows.subarray(position * this.rotary, (position + 1) * this.rotary);
  }

  #extend(count: number): void {
    if (count * this.rotary > this.#rows.length) {
      const larger = new Float32Array(Math.max(count, this.#known * 2) * this.rotary);
      larger.set(this.#rows.subarray(0, this.#known * this.rotary));
      this.#rows = larger;
    }
    const half = this.rotary / 2;
    const pair = new Float64Array(2);
    for (; this.#known < count; this.#known++) {
      const at = this.#known * this.rotary;
      for (let i = 0; i < half; i++) {
        sinCos64(this.#known * this.#frequencies[i]!, pair);
        this.#rows[at + i] = pair[1]! * this.#magnitude;
        this.#rows[at + half + i] = pair[0]! * this.#magnitude;
      }
    }
  }
}
