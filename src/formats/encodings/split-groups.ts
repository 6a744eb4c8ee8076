import { type GroupValues, groupCount, type QuantizedMatrix } from "../../weights/quantized-matrix.ts";

/** The same weights in groups of `groupSize`, which must divide the groups there are; each has the values of the one it is from. */
export function splitGroups(matrix: QuantizedMatrix, groupSize: number): QuantizedMatrix {
  const { N, K } = matrix;
  const size = Math.min(matrix.groupSize, K);
  if (size === groupSize) return matrix;
  const from = groupCount(K, size);
  const to = groupCount(K, groupSize);
  const spread = <T extends Uint8Array | Uint16Array | Float32Array>(all: T): T => {
    const out = new (all.constructor as new (length: number) => T)(N * to);
    for (let n = 0; n < N; n++)
      for (let g = 0; g < to; g++) out[n * to + g] = all[n * from + Math.floor((g * groupSize) / size)]!;
    return out;
  };
  const each = (values: GroupValues): GroupValues => {
    if ("superValues" in values) return { ...values, codes: spread(values.codes) };
    return values.kind === "f32"
      ? { kind: values.kind, values: spread(values.values) }
      : { kind: values.kind, values: spread(values.values) };
  };
  const { scale, zero, offset } = matrix;
  return {
    ...matrix,
    groupSize,
    scale: each(scale),
    zero: typeof zero === "number" ? zero : spread(zero),
    ...(offset && { offset: each(offset) }),
  };
}
