import { bf16ToF32, f16ToF32, f32ToBf16, f32ToF16 } from "../../arithmetic/half.ts";
import { HalfbyteError } from "../../errors.ts";
import {
  type CodeBits,
  type FloatType,
  type GroupValues,
  groupCount,
  type QuantizedMatrix,
} from "../../weights/quantized-matrix.ts";
import { groupValue, offsetValue } from "../../weights/unpack.ts";
import type { FlatValues } from "./tensors.ts";

export const INEXACT_REMEDY: string =
  "choose an encoding that holds it, or let it be rounded (halfbyte convert --lossy)";

/**
 * The same weights in the form an encoding asks for, or ERR_UNSUPPORTED with the reason: nothing here rounds. `encoding`
 * and `place` are for the message.
 */
export class ExactForm {
  readonly matrix: QuantizedMatrix;
  readonly groups: number;
  readonly #encoding: string;
  readonly #place: string;
  readonly #firstOutput: number;

  /** `firstOutput` is where the matrix begins in the one it is part of, for messages. */
  constructor(matrix: QuantizedMatrix, encoding: string, place: string, firstOutput = 0) {
    this.matrix = matrix;
    this.groups = groupCount(matrix.K, matrix.groupSize);
    this.#encoding = encoding;
    this.#place = place;
    this.#firstOutput = firstOutput;
    if (matrix.codeBook) throw this.refusal("codes stand for the values of a code book");
    if (this.groups > 1 && matrix.K % matrix.groupSize !== 0)
      throw this.refusal(`groups of ${matrix.groupSize} do not divide ${matrix.K} inputs`);
  }

  refusal(reason: string): HalfbyteError {
    return new HalfbyteError("ERR_UNSUPPORTED", `${this.#encoding} cannot hold this matrix exactly: ${reason}`, {
      place: this.#place,
      remedy: INEXACT_REMEDY,
    });
  }

  /** Throws unless `size`, which is called `what`, is a multiple of `unit`. */
  multiple(size: number, unit: number, what: string): void {
    if (size % unit !== 0) throw this.refusal(`${size} ${what} are no multiple of ${unit}`);
  }

  /** The width among `widths` that the codes have, or the one that 5- and 6-bit codes widen to. */
  bits<Width extends CodeBits>(...widths: Width[]): Width {
    const { bits } = this.matrix;
    const fits = widths.find((width) => width === bits) ?? widths.find((width) => width > bits && bits > 4);
    if (fits !== undefined) return fits;
    throw this.refusal(`codes have ${bits} bits`);
  }

  /** Codes of that width; widened ones stay centred, so that what is symmetric stays so. */
  codes(bits: CodeBits): Uint8Array {
    const shift = this.#shift(bits);
    return shift === 0 ? this.matrix.codes : this.matrix.codes.map((code) => code + shift);
  }

  #shift(bits: CodeBits): number {
    return 2 ** (bits - 1) - 2 ** (this.matrix.bits - 1);
  }

  /** Scales in the first of `types` that has them all; their own where it is among these. */
  scales(...types: FloatType[]): FlatValues {
    const { scale } = this.matrix;
    return this.#flat(scale, types, "scales", (n, g) => groupValue(this.matrix, scale, n, g));
  }

  /** Those of `types` that have all scales; their own alone where it is among these. */
  scaleTypes(...types: FloatType[]): FloatType[] {
    const { scale } = this.matrix;
    const own = types.find((type) => type === scale.kind);
    if (own) return [own];
    const values = this.#values((n, g) => groupValue(this.matrix, scale, n, g));
    const fit = types.filter((type) => inType(values, type) !== undefined);
    if (fit.length > 0) return fit;
    throw this.#inexact("scales", types);
  }

  /** Zero points of 0 to 2^bits − 1: one for all, or u8 [N, groups]. Offsets must be whole steps. */
  zeros(bits: 4 | 8): number | Uint8Array {
    const { N, offset, zero } = this.matrix;
    const largest = 2 ** bits - 1;
    const shift = this.#shift(bits);
    const inRange = (z: number): boolean => Number.isInteger(z) && z + shift >= 0 && z + shift <= largest;
    if (!offset) {
      const all = typeof zero === "number" ? [zero] : zero;
      const wrong = all.find((z) => !inRange(z));
      if (wrong === undefined) return typeof zero === "number" ? zero + shift : zero.map((z) => z + shift);
      throw this.refusal(`a zero point of ${wrong} is past ${largest}`);
    }
    const out = new Uint8Array(N * this.groups);
    this.#eachGroup((n, g, at) => {
      const scale = groupValue(this.matrix, this.matrix.scale, n, g);
      const real = offsetValue(this.matrix, n, g);
      const from = this.#zero(at);
      const z = real === 0 ? from : from - real / scale;
      if (!inRange(z) || !this.#sameWeights(scale, from, real, z, undefined))
        throw this.refusal(`the offset of ${this.#where(n, g)} is no whole number of its scales`);
      out[at] = z + shift;
    });
    return out;
  }

  /** Offsets of weights `scale · (code − zero) + offset`, in the first of `types` that has them all. */
  offsets(zero: number, ...types: FloatType[]): FlatValues {
    const { offset } = this.matrix;
    const own = offset && this.matrix.zero === zero ? offset : undefined;
    return this.#flat(own, types, "offsets", (n, g, at) => {
      const scale = groupValue(this.matrix, this.matrix.scale, n, g);
      const from = this.#zero(at);
      const real = offset ? offsetValue(this.matrix, n, g) : undefined;
      // Not −0, which a step of 0 times a negative scale would give.
      const moved = Math.fround((real ?? 0) + scale * (zero - from) + 0);
      if (!own && !this.#sameWeights(scale, from, real, zero, moved))
        throw this.refusal(`the zero point of ${this.#where(n, g)} is no offset in f32`);
      return own ? real! : moved;
    });
  }

  #zero(at: number): number {
    const { zero } = this.matrix;
    return typeof zero === "number" ? zero : zero[at]!;
  }

  #eachGroup(visit: (n: number, g: number, at: number) => void): void {
    for (let n = 0, at = 0; n < this.matrix.N; n++) for (let g = 0; g < this.groups; g++, at++) visit(n, g, at);
  }

  /** Every code has the same weight in both forms. */
  #sameWeights(scale: number, zero: number, offset: number | undefined, zero2: number, offset2: number | undefined) {
    for (let code = 0; code < 2 ** this.matrix.bits; code++)
      if (weight(scale, code - zero, offset) !== weight(scale, code - zero2, offset2)) return false;
    return true;
  }

  #flat(
    own: GroupValues | undefined,
    types: FloatType[],
    what: string,
    value: (n: number, g: number, at: number) => number,
  ): FlatValues {
    if (own && !("superSize" in own) && types.includes(own.kind)) return own;
    const values = this.#values(value);
    for (const type of types) {
      const fit = inType(values, type);
      if (fit) return fit;
    }
    throw this.#inexact(what, types);
  }

  #values(value: (n: number, g: number, at: number) => number): Float32Array {
    const values = new Float32Array(this.matrix.N * this.groups);
    this.#eachGroup((n, g, at) => {
      values[at] = value(n, g, at);
    });
    return values;
  }

  #inexact(what: string, types: readonly FloatType[]): HalfbyteError {
    return this.refusal(`its ${what} are not exact in ${types.join(" or ")}`);
  }

  #where(n: number, g: number): string {
    return `output ${this.#firstOutput + n}, group ${g}`;
  }
}

/** The same numbers in another type, or undefined where it does not have them all. */
function inType(values: Float32Array, kind: FloatType): FlatValues | undefined {
  if (kind === "f32") return { kind, values };
  const [round, exact] = kind === "f16" ? [f32ToF16, f16ToF32] : [f32ToBf16, bf16ToF32];
  const bits = new Uint16Array(values.length);
  for (let i = 0; i < values.length; i++) {
    bits[i] = round(values[i]!);
    if (exact(bits[i]!) !== values[i]) return undefined;
  }
  return { kind, values: bits };
}

/** As `matrixRowToFloat` makes it. */
function weight(scale: number, steps: number, offset: number | undefined): number {
  const product = Math.fround(scale * steps);
  return offset === undefined ? product : Math.fround(product + offset);
}
