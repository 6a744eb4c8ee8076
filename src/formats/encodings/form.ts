import { HalfbyteError } from "../../errors.ts";
import type { QuantizedMatrix } from "../../weights/quantized-matrix.ts";

/** The shape of an encoded matrix, as its tensors tell it. */
export interface MatrixForm {
  readonly N: number;
  readonly K: number;
  readonly bits: 4 | 8;
  /** K for one group per output. */
  readonly groupSize: number;
}

/** What a configuration says of a matrix; tensors are trusted over it where they tell. */
export interface Declared {
  readonly bits?: number | undefined;
  /** −1 for one group per output. */
  readonly groupSize?: number | undefined;
  readonly symmetric?: boolean | undefined;
}

/**
 * A matrix whose columns may stand in another order than its inputs come in, so that the groups of an act-order
 * checkpoint are runs of columns: column j holds the weights of input `inputOrder[j]`, or of input j where there is none.
 */
export interface OrderedMatrix {
  readonly matrix: QuantizedMatrix;
  readonly inputOrder?: Int32Array;
}

/**
 * The form of a matrix whose tensors have `groups` groups per output. Throws ERR_SHAPE for a matrix without outputs or
 * inputs, where groups of that number do not divide K, and where as many of the declared size would have a short one last:
 * nothing tells then which is meant.
 */
export function matrixForm(
  { N, K, bits }: Omit<MatrixForm, "groupSize">,
  groups: number,
  declared: Declared,
  place: string,
): MatrixForm {
  const refuse = (problem: string, expected: string, got: string): never => {
    throw new HalfbyteError("ERR_SHAPE", problem, { place, expected, got });
  };
  if (N < 1 || K < 1) refuse("not a matrix", "at least one output and one input", `[${N}, ${K}]`);
  const got = `${groups} groups of ${K} inputs`;
  if (groups < 1 || K % groups !== 0)
    refuse("groups do not divide the inputs", "a number of groups that divides K", got);
  const { groupSize: size = -1 } = declared;
  if (groups > 1 && size > 0 && K % size !== 0 && groups === Math.ceil(K / size))
    refuse("groups do not divide the inputs", `groups of ${size}, as the configuration has it`, got);
  return { N, K, bits, groupSize: K / groups };
}

/** Throws ERR_UNSUPPORTED unless codes have 4 or 8 bits. */
export function checkBits(bits: number, place: string): 4 | 8 {
  if (bits === 4 || bits === 8) return bits;
  throw new HalfbyteError("ERR_UNSUPPORTED", "codes of this width cannot be read", {
    place,
    expected: "4 or 8 bits",
    got: String(bits),
  });
}
