import { HalfbyteError } from "../errors.ts";
import type { MatrixSource } from "./matrix-source.ts";
import { type GroupValues, groupCount, type Matrix, type QuantizedMatrix } from "./quantized-matrix.ts";

/** Outputs `first … end − 1` of a matrix that is still in its file; an order of inputs stays. */
export function rowsOfSource(
  source: MatrixSource,
  first: number,
  end: number,
  name: string = source.name,
): MatrixSource {
  const { ggml } = source;
  return {
    ...source,
    name,
    N: end - first,
    readRows: (row, count) => source.readRows(first + row, count),
    ...(ggml && { ggml: { ...ggml, readInto: (row, count, target) => ggml.readInto(first + row, count, target) } }),
  };
}

/**
 * Columns `first … end − 1` of a matrix that is still in its file, as it stores them: whoever feeds it must do so in the
 * order of these columns. Throws as `sliceColumns`.
 */
export function columnsOfSource(source: MatrixSource, first: number, end: number): MatrixSource {
  const { name, N, K, rowBytes } = source;
  const cut = (rows: Matrix): Matrix => sliceColumns(rows, first, end, name);
  return {
    name,
    N,
    K: end - first,
    like: cut(source.like),
    rowBytes: Math.ceil((rowBytes * (end - first)) / K),
    readRows: async (row, count) => cut(await source.readRows(row, count)),
  };
}

/** Outputs of a matrix, in the order of `rows`. */
export function takeRows(matrix: Matrix, rows: ArrayLike<number>): Matrix {
  const N = rows.length;
  const take = <T extends Numbers>(all: T): T => {
    const width = matrix.N === 0 ? 0 : all.length / matrix.N;
    const out = empty(all, N * width);
    for (let i = 0; i < N; i++) out.set(all.subarray(rows[i]! * width, (rows[i]! + 1) * width), i * width);
    return out;
  };
  if (matrix.kind === "float") return { ...matrix, N, values: take(matrix.values) };
  return mapped(matrix, { N, codes: take(matrix.codes) }, take, take);
}

/**
 * Columns `first … end − 1` of a matrix, every weight as it was. A group that is cut in two becomes smaller ones with the
 * same values, so that all are of one size again. Throws ERR_UNSUPPORTED where these would have no multiple of 16 inputs
 * (of 32 for 5-bit codes), which is what the packed layout holds.
 */
export function sliceColumns(matrix: Matrix, first: number, end: number, place: string): Matrix {
  const { N } = matrix;
  const K = end - first;
  const columns = <T extends Numbers>(all: T): T => pick(all, N, K, (k) => first + k);
  if (matrix.kind === "float") return { ...matrix, K, values: columns(matrix.values) };
  const { groupSize: size } = matrix;
  const groupSize = size >= matrix.K ? K : cutSize(size, first, end, matrix.K);
  const unit = matrix.bits === 5 ? 32 : 16;
  if (groupSize < K && groupSize % unit !== 0)
    throw new HalfbyteError("ERR_UNSUPPORTED", "a cut would leave groups too small to be held", {
      place,
      expected: `cuts that leave groups of a multiple of ${unit} inputs`,
      got: `groups of ${groupSize}, from inputs ${first} to ${end - 1} in groups of ${size}`,
    });
  const values = <T extends Numbers>(all: T): T =>
    pick(all, N, groupCount(K, groupSize), (g) => Math.floor((first + g * groupSize) / size));
  const supers = <T extends Numbers>(all: T, superSize: number, of: number): T =>
    pick(all, N, groupCount(K, superSize), (s) => Math.floor((first + s * superSize) / of));
  return mapped(
    matrix,
    { K, groupSize, codes: columns(matrix.codes) },
    values,
    (all, of) => supers(all, cutSize(of, first, end, matrix.K), of),
    (of) => cutSize(of, first, end, matrix.K),
  );
}

/** The largest size of pieces, at most `size`, such that both cuts fall between pieces. */
function cutSize(size: number, first: number, end: number, K: number): number {
  return greatestDivisor(greatestDivisor(size, first), end === K ? 0 : end);
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}

type Numbers = Uint8Array | Uint16Array | Float32Array;

function empty<T extends Numbers>(like: T, length: number): T {
  return new (like.constructor as new (length: number) => T)(length);
}

/** [N, columns] of [N, any], column c from column `from(c)`. */
function pick<T extends Numbers>(all: T, N: number, columns: number, from: (column: number) => number): T {
  const width = N === 0 ? 0 : all.length / N;
  const out = empty(all, N * columns);
  for (let c = 0; c < columns; c++)
    for (let n = 0, source = from(c), to = c; n < N; n++, source += width, to += columns) out[to] = all[source]!;
  return out;
}

/** The matrix with `changes`, its numbers per group put through `values` and those per super group through `supers`. */
function mapped(
  matrix: QuantizedMatrix,
  changes: Partial<QuantizedMatrix>,
  values: <T extends Numbers>(all: T) => T,
  supers: (all: Uint16Array, superSize: number) => Uint16Array,
  superSize: (of: number) => number = (of) => of,
): QuantizedMatrix {
  const each = (all: GroupValues): GroupValues => {
    if ("superValues" in all)
      return {
        ...all,
        codes: values(all.codes),
        superValues: supers(all.superValues, all.superSize),
        superSize: superSize(all.superSize),
      };
    return all.kind === "f32"
      ? { kind: all.kind, values: values(all.values) }
      : { kind: all.kind, values: values(all.values) };
  };
  const { scale, zero, offset } = matrix;
  return {
    ...matrix,
    ...changes,
    scale: each(scale),
    zero: typeof zero === "number" ? zero : values(zero),
    ...(offset && { offset: each(offset) }),
  };
}
