import { f16ToF32, f32ToF16 } from "../arithmetic/half.ts";
import type { GroupValues } from "../weights/quantized-matrix.ts";

type TwoLevel = Extract<GroupValues, { superSize: number }>;

/** Codes of scales and minima in Q4_K. */
const LARGEST = 63;
const LARGEST_CODE = 15;

export interface TwoLevelRow {
  /** As executors read them, f32 [groups]. */
  readonly scales: Float32Array;
  readonly offsets: Float32Array;
}

/**
 * Scales and offsets of groups as Q4_K has them, 6-bit codes under f16 values: rounded row by row, in place, and kept. An
 * offset above 0, which it has not, goes into the scale.
 */
export class TwoLevelValues {
  readonly scale: TwoLevel;
  readonly offset: TwoLevel;
  readonly #groups: number;
  readonly #groupsOfSuper: number;

  constructor(N: number, K: number, groupSize: number, superSize: number) {
    this.#groups = K / groupSize;
    this.#groupsOfSuper = superSize / groupSize;
    const values = (): TwoLevel => ({
      kind: "two-level-u8",
      codes: new Uint8Array(N * this.#groups),
      superValues: new Uint16Array((N * K) / superSize),
      superSize,
    });
    this.scale = values();
    this.offset = values();
  }

  /** Takes row n, and leaves there what it becomes. */
  round(n: number, { scales, offsets }: TwoLevelRow): void {
    const groups = this.#groups;
    for (let g = 0; g < groups; g++) {
      scales[g] = Math.max(0, scales[g]! + Math.max(0, offsets[g]!) / LARGEST_CODE);
      offsets[g] = Math.max(0, -offsets[g]!);
    }
    this.#roundRow(n, scales, this.scale);
    this.#roundRow(n, offsets, this.offset);
    for (let g = 0; g < groups; g++) offsets[g] = -offsets[g]!;
  }

  #roundRow(n: number, values: Float32Array, { codes, superValues }: TwoLevel): void {
    const step = this.#groupsOfSuper;
    for (let first = 0; first < values.length; first += step) {
      const part = values.subarray(first, first + step);
      const bits = f32ToF16(part.reduce((most, value) => Math.max(most, value), 0) / LARGEST);
      const unit = f16ToF32(bits);
      superValues[(n * this.#groups + first) / step] = bits;
      for (let i = 0; i < part.length; i++) {
        const code = unit === 0 ? 0 : Math.min(LARGEST, Math.round(part[i]! / unit));
        codes[n * this.#groups + first + i] = code;
        part[i] = unit * code;
      }
    }
  }
}
