import type { GroupValues, QuantizedMatrix } from "../weights/quantized-matrix.ts";

/** Parts of a matrix, row after row, as one; they are alike but for their rows. */
export function joinRows(parts: readonly QuantizedMatrix[]): QuantizedMatrix {
  const [first] = parts;
  if (parts.length === 1) return first!;
  const { zero, offset } = first!;
  return {
    ...first!,
    N: parts.reduce((sum, { N }) => sum + N, 0),
    codes: joined(parts.map(({ codes }) => codes)),
    scale: joinedValues(parts.map(({ scale }) => scale)),
    zero: typeof zero === "number" ? zero : joined(parts.map((part) => part.zero as Uint8Array)),
    ...(offset && { offset: joinedValues(parts.map((part) => part.offset!)) }),
  };
}

function joinedValues(parts: readonly GroupValues[]): GroupValues {
  const [first] = parts;
  if ("superSize" in first!) {
    const all = parts as readonly (typeof first)[];
    const codes = joined(all.map((part) => part.codes));
    return { ...first, codes, superValues: joined(all.map(({ superValues }) => superValues)) };
  }
  const flat = parts as readonly Extract<GroupValues, { kind: "f32" }>[];
  return { kind: flat[0]!.kind, values: joined(flat.map(({ values }) => values)) };
}

function joined<T extends Uint8Array | Uint16Array | Float32Array>(parts: readonly T[]): T {
  const View = parts[0]!.constructor as new (length: number) => T;
  const all = new View(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
