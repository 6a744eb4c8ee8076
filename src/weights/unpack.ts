import { bf16ToF32, f16ToF32 } from "../arithmetic/half.ts";
import { BLOCK_OUTPUTS, type FloatLayout, type PackedMatrix, type QuantizedLayout } from "./packed-layout.ts";
import type { GroupValues, Matrix, QuantizedMatrix } from "./quantized-matrix.ts";

/** The matrix that was packed, value for value. */
export function unpack(packed: PackedMatrix): Matrix {
  const { layout } = packed;
  return layout.kind === "float" ? unpackFloat(layout, packed.bytes) : unpackQuantized(layout, packed.bytes);
}

/** Row n as floats, by the rules of `matrixRowToFloat`: what an embedding look-up reads from the packed form. */
export function readPackedRow(packed: PackedMatrix, n: number, out: Float32Array): void {
  const { layout } = packed;
  const at = Math.floor(n / BLOCK_OUTPUTS) * layout.blockBytes;
  const block = {
    layout: { ...layout, N: BLOCK_OUTPUTS, blocks: 1 },
    bytes: packed.bytes.subarray(at, at + layout.blockBytes),
  };
  matrixRowToFloat(unpack(block), n % BLOCK_OUTPUTS, out);
}

/**
 * `scale · f32(value(code) − zero)`, rounded, then `+ offset`, rounded; two-level values are rounded once before.
 * out: f32 [K].
 */
export function matrixRowToFloat(matrix: Matrix, n: number, out: Float32Array): void {
  const { K } = matrix;
  if (matrix.kind === "float") {
    const { values, type } = matrix;
    for (let k = 0; k < K; k++) {
      const v = values[n * K + k]!;
      out[k] = type === "f32" ? v : type === "f16" ? f16ToF32(v) : bf16ToF32(v);
    }
    return;
  }
  const groups = Math.ceil(K / matrix.groupSize);
  for (let g = 0; g < groups; g++) {
    const scale = groupValue(matrix, matrix.scale, n, g);
    const offset = matrix.offset ? offsetValue(matrix, n, g) : undefined;
    const zero = typeof matrix.zero === "number" ? matrix.zero : matrix.zero[n * groups + g]!;
    const end = Math.min(K, (g + 1) * matrix.groupSize);
    for (let k = g * matrix.groupSize; k < end; k++) {
      const code = matrix.codes[n * K + k]!;
      const w = Math.fround(scale * ((matrix.codeBook ? matrix.codeBook[code]! : code) - zero));
      out[k] = offset === undefined ? w : w + offset;
    }
  }
}

/** The f32 value of one output and group; two-level values are `f32(super) · code`, rounded once. */
export function groupValue(matrix: QuantizedMatrix, values: GroupValues, n: number, g: number): number {
  const groups = Math.ceil(matrix.K / matrix.groupSize);
  const at = n * groups + g;
  if ("superValues" in values) {
    const supers = Math.ceil(matrix.K / values.superSize);
    const top = f16ToF32(values.superValues[n * supers + Math.floor((g * matrix.groupSize) / values.superSize)]!);
    const code = values.codes[at]!;
    return Math.fround(top * (values.kind === "two-level-i8" ? (code << 24) >> 24 : code));
  }
  const value = values.values[at]!;
  return values.kind === "f32" ? value : values.kind === "f16" ? f16ToF32(value) : bf16ToF32(value);
}

/** The f32 offset of one output and group: a two-level one is stored by its magnitude and subtracted. */
export function offsetValue(matrix: QuantizedMatrix, n: number, g: number): number {
  const value = groupValue(matrix, matrix.offset!, n, g);
  return "superValues" in matrix.offset! ? -value : value;
}

function unpackFloat(layout: FloatLayout, bytes: Uint8Array): Matrix {
  const { N, K, type, blockBytes } = layout;
  const values = type === "f32" ? new Float32Array(N * K) : new Uint16Array(N * K);
  for (let n = 0; n < N; n++) {
    const at = bytes.byteOffset + (n >> 4) * blockBytes;
    const block =
      type === "f32" ? new Float32Array(bytes.buffer, at, K * 16) : new Uint16Array(bytes.buffer, at, K * 16);
    for (let k = 0; k < K; k++) values[n * K + k] = block[k * 16 + (n & 15)]!;
  }
  return { kind: "float", N, K, type, values };
}

function unpackQuantized(layout: QuantizedLayout, bytes: Uint8Array): QuantizedMatrix {
  const { N, K, bits, groupSize, groups } = layout;
  const codes = new Uint8Array(N * K);
  for (let n = 0; n < N; n++) {
    const block = bytes.subarray((n >> 4) * layout.blockBytes);
    for (let k = 0; k < K; k++) codes[n * K + k] = packedCode(layout, block, n & 15, k);
  }
  const supers = layout.superSize ? Math.ceil(K / layout.superSize) : 0;
  const read = (kind: GroupValues["kind"], valuesAt: number, superAt: number): GroupValues => {
    if (kind === "two-level-u8" || kind === "two-level-i8")
      return {
        kind,
        codes: gather(layout, bytes, valuesAt, groups, new Uint8Array(N * groups)),
        superValues: gather(layout, bytes, superAt, supers, new Uint16Array(N * supers)),
        superSize: layout.superSize,
      };
    if (kind === "f32") return { kind, values: gather(layout, bytes, valuesAt, groups, new Float32Array(N * groups)) };
    return { kind, values: gather(layout, bytes, valuesAt, groups, new Uint16Array(N * groups)) };
  };
  return {
    kind: "quantized",
    N,
    K,
    bits,
    groupSize,
    codes,
    ...(layout.codeBook && { codeBook: layout.codeBook }),
    scale: read(layout.scale, layout.scaleAt, layout.superScaleAt),
    zero: layout.zero === "u8" ? gather(layout, bytes, layout.zeroAt, groups, new Uint8Array(N * groups)) : layout.zero,
    ...(layout.offset && { offset: read(layout.offset, layout.offsetAt, layout.superOffsetAt) }),
  };
}

function packedCode(layout: QuantizedLayout, block: Uint8Array, c: number, k: number): number {
  const byte = (k >> 3) * 64 + 4 * c + (k & 3);
  const nibble = (at: number): number => (k & 4 ? block[at]! >> 4 : block[at]! & 15);
  const low = nibble(byte);
  if (layout.bits === 4) return low;
  if (layout.bits === 8) return low | (nibble(layout.highAt + byte) << 4);
  const width = layout.bits - 4;
  const quads = 8 / width;
  const quad = k >> 2;
  const word = block[layout.highAt + Math.floor(quad / quads) * 64 + 4 * c + (k & 3)]!;
  return low | (((word >> (width * (quad % quads))) & ((1 << width) - 1)) << 4);
}

/** [columns, 16] of every block to [N, columns]. */
function gather<T extends Uint8Array | Uint16Array | Float32Array>(
  layout: QuantizedLayout,
  bytes: Uint8Array,
  at: number,
  columns: number,
  out: T,
): T {
  const View = out.constructor as new (buffer: ArrayBufferLike, offset: number, length: number) => T;
  for (let b = 0; b < layout.blocks; b++) {
    const block = new View(bytes.buffer, bytes.byteOffset + b * layout.blockBytes + at, columns * 16);
    const rows = Math.min(BLOCK_OUTPUTS, layout.N - b * BLOCK_OUTPUTS);
    for (let c = 0; c < rows; c++)
      for (let g = 0; g < columns; g++) out[(b * 16 + c) * columns + g] = block[g * 16 + c]!;
  }
  return out;
}
