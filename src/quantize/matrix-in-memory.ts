import type { MatrixSource } from "../weights/matrix-source.ts";
import type { GroupValues, QuantizedMatrix } from "../weights/quantized-matrix.ts";

/** Some rows of a matrix without two-level values. */
export function rowsOf(matrix: QuantizedMatrix, first: number, count: number): QuantizedMatrix {
  const cut = <T extends Uint8Array | Uint16Array | Float32Array>(all: T): T => {
    const width = all.length / matrix.N;
    return all.subarray(first * width, (first + count) * width) as T;
  };
  const values = (all: GroupValues): GroupValues =>
    "superSize" in all ? all : ({ ...all, values: cut(all.values) } as GroupValues);
  const { codes, scale, zero, offset } = matrix;
  return {
    ...matrix,
    N: count,
    codes: cut(codes),
    scale: values(scale),
    zero: typeof zero === "number" ? zero : cut(zero),
    ...(offset && { offset: values(offset) }),
  };
}

export function matrixInMemory(name: string, matrix: QuantizedMatrix, inputOrder?: Int32Array): MatrixSource {
  const { N, K } = matrix;
  return {
    name,
    N,
    K,
    like: rowsOf(matrix, 0, 0),
    rowBytes: matrix.codes.length / N,
    readRows: async (first, count) => rowsOf(matrix, first, count),
    ...(inputOrder && { inputOrder }),
  };
}
