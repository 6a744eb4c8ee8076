import { HalfbyteError } from "../../errors.ts";
import { type Tensor, wordsOf } from "./tensors.ts";

/**
 * The order of inputs in which the groups of `g_idx` are runs: input `order[j]` stands at column j, and inside a group
 * inputs ascend. Undefined for the plain order. An index that was never filled in is plain too: all −1
 * (compressed-tensors), or all 0 where there are several groups (AutoGPTQ).
 *
 * Throws ERR_FORMAT for a group out of range, ERR_UNSUPPORTED where groups are not all of one size: no order makes such
 * groups runs.
 */
export function inputOrder(
  groupOfInput: Int32Array,
  groupSize: number,
  place: string,
): Int32Array<ArrayBuffer> | undefined {
  const K = groupOfInput.length;
  const groups = K / groupSize;
  if (groupOfInput.every((g) => g === -1) || groupOfInput.every((g) => g === 0)) return undefined;
  const counts = new Int32Array(groups);
  for (const [k, g] of groupOfInput.entries()) {
    if (g >= 0 && g < groups) counts[g]!++;
    else
      throw new HalfbyteError("ERR_FORMAT", "an input belongs to no group", {
        place,
        expected: `0 to ${groups - 1}`,
        got: `${g} for input ${k}`,
      });
  }
  const uneven = counts.findIndex((count) => count !== groupSize);
  if (uneven >= 0)
    throw new HalfbyteError("ERR_UNSUPPORTED", "groups of different sizes", {
      place,
      expected: `${groupSize} inputs in each group`,
      got: `${counts[uneven]} in group ${uneven}`,
    });
  const next = Int32Array.from({ length: groups }, (_, g) => g * groupSize);
  const order = new Int32Array(K);
  for (let k = 0; k < K; k++) order[next[groupOfInput[k]!]!++] = k;
  return order.every((input, column) => input === column) ? undefined : order;
}

/** The group of each input, for a matrix whose columns stand in `order`. */
export function groupOfInput(K: number, groupSize: number, order: Int32Array | undefined): Int32Array<ArrayBuffer> {
  const out = new Int32Array(K);
  for (let column = 0; column < K; column++) out[order ? order[column]! : column] = Math.floor(column / groupSize);
  return out;
}

/** Throws ERR_ARGUMENT unless each input occurs once. */
export function checkOrder(order: Int32Array, K: number, place: string): void {
  const seen = new Uint8Array(K);
  for (const input of order) if (input >= 0 && input < K) seen[input] = 1;
  if (order.length === K && seen.every((each) => each === 1)) return;
  throw new HalfbyteError("ERR_ARGUMENT", "an order of inputs must have each of them once", { place });
}

export function readGroupOfInput(tensor: Tensor): Int32Array {
  const words = wordsOf(tensor);
  return new Int32Array(words.buffer, words.byteOffset, words.length);
}

/** Codes [N, K] with column j taken from column `order[j]`. */
export function takeColumns(codes: Uint8Array, N: number, order: Int32Array): Uint8Array {
  const K = order.length;
  const out = new Uint8Array(codes.length);
  for (let row = 0; row < N * K; row += K) for (let j = 0; j < K; j++) out[row + j] = codes[row + order[j]!]!;
  return out;
}

/** The inverse: column `order[j]` taken from column j. */
export function putColumns(codes: Uint8Array, N: number, order: Int32Array): Uint8Array {
  const K = order.length;
  const out = new Uint8Array(codes.length);
  for (let row = 0; row < N * K; row += K) for (let j = 0; j < K; j++) out[row + order[j]!] = codes[row + j]!;
  return out;
}
