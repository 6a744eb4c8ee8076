import { HalfbyteError } from "../errors.ts";
import type { MatrixSource } from "./matrix-source.ts";
import { BLOCK_OUTPUTS, type FloatLayout, type PackedLayout, type QuantizedLayout } from "./packed-layout.ts";
import type { GroupValues, Matrix, QuantizedMatrix } from "./quantized-matrix.ts";

/** Source bytes read at once while packing: large enough for a disk, small beside any model. */
const CHUNK_BYTES = 1 << 20;

/**
 * Writes the rows of `matrix` as blocks `firstBlock …` of a packed matrix. Every chunk but the last must have a multiple
 * of 16 rows. `target` holds the whole packed matrix, zeroed. Throws ERR_SHAPE when the matrix is not of the layout's kind.
 */
export function packRows(layout: PackedLayout, matrix: Matrix, firstBlock: number, target: Uint8Array): void {
  checkSameKind(layout, matrix);
  const count = Math.ceil(matrix.N / BLOCK_OUTPUTS);
  for (let b = 0; b < count; b++) {
    const at = (firstBlock + b) * layout.blockBytes;
    const block = target.subarray(at, at + layout.blockBytes);
    if (layout.kind === "float") packFloatBlock(layout, matrix, b * BLOCK_OUTPUTS, block);
    else packQuantizedBlock(layout, matrix as QuantizedMatrix, b * BLOCK_OUTPUTS, block);
  }
}

/** Rows of `source` that one read takes: a multiple of 16. */
export function rowsPerChunk(source: Pick<MatrixSource, "rowBytes">): number {
  return Math.max(1, Math.floor(CHUNK_BYTES / source.rowBytes / BLOCK_OUTPUTS)) * BLOCK_OUTPUTS;
}

/** Packs a whole matrix from its file; `target()` gives the packed bytes anew after each read, as memory may have moved. */
export async function packFrom(
  source: MatrixSource,
  layout: PackedLayout,
  target: () => Uint8Array,
  signal?: AbortSignal,
): Promise<void> {
  const step = rowsPerChunk(source);
  for (let first = 0; first < source.N; first += step) {
    signal?.throwIfAborted();
    const rows = await source.readRows(first, Math.min(step, source.N - first));
    packRows(layout, rows, first / BLOCK_OUTPUTS, target());
  }
}

function checkSameKind(layout: PackedLayout, matrix: Matrix): void {
  const same =
    layout.K === matrix.K &&
    (layout.kind === "float"
      ? matrix.kind === "float" && matrix.type === layout.type
      : matrix.kind === "quantized" &&
        matrix.bits === layout.bits &&
        matrix.scale.kind === layout.scale &&
        matrix.offset?.kind === layout.offset &&
        (typeof matrix.zero === "number" ? matrix.zero : "u8") === layout.zero);
  if (!same) throw new HalfbyteError("ERR_SHAPE", "rows are of another kind than the packed matrix they go to");
}

function packFloatBlock(layout: FloatLayout, matrix: Matrix, firstRow: number, block: Uint8Array): void {
  const { values } = matrix as Extract<Matrix, { kind: "float" }>;
  const { K } = layout;
  const wide = values instanceof Float32Array;
  const out = wide ? new Float32Array(block.buffer, block.byteOffset, K * 16) : u16(block, 0, K * 16);
  const rows = Math.min(BLOCK_OUTPUTS, matrix.N - firstRow);
  for (let c = 0; c < rows; c++) {
    const row = (firstRow + c) * K;
    for (let k = 0; k < K; k++) out[k * 16 + c] = values[row + k]!;
  }
}

function packQuantizedBlock(
  layout: QuantizedLayout,
  matrix: QuantizedMatrix,
  firstRow: number,
  block: Uint8Array,
): void {
  const { K, bits, groups, paddedK } = layout;
  const rows = Math.min(BLOCK_OUTPUTS, matrix.N - firstRow);
  const padded = new Uint8Array(paddedK);
  const nibbles = new Uint32Array(block.buffer, block.byteOffset, paddedK * 2);
  const high = new Uint32Array(
    block.buffer,
    block.byteOffset + layout.highAt,
    (layout.superScaleAt - layout.highAt) / 4,
  );
  for (let c = 0; c < rows; c++) {
    const row = (firstRow + c) * K;
    let codes: Uint8Array = padded;
    if (K === paddedK) codes = matrix.codes.subarray(row, row + K);
    else padded.set(matrix.codes.subarray(row, row + K));
    packNibbles(codes, nibbles, c);
    if (bits === 8) packHighNibbles(codes, high, c);
    else if (bits !== 4) packHighBits(codes, high, c, bits - 4);
  }
  const supers = layout.superSize ? Math.ceil(K / layout.superSize) : 0;
  const at = firstRow * groups;
  packGroupValues(matrix.scale, block, layout.scaleAt, layout.superScaleAt, at, firstRow, rows, groups, supers);
  if (matrix.offset)
    packGroupValues(matrix.offset, block, layout.offsetAt, layout.superOffsetAt, at, firstRow, rows, groups, supers);
  if (typeof matrix.zero !== "number")
    transpose(matrix.zero, at, groups, rows, block.subarray(layout.zeroAt, layout.zeroAt + groups * 16));
}

/** Word `16·o + c`: codes of inputs 8o … 8o+7, the later four in the high nibbles. */
function packNibbles(codes: Uint8Array, words: Uint32Array, c: number): void {
  for (let k = 0, w = c; k < codes.length; k += 8, w += 16) {
    words[w] =
      (codes[k]! & 15) |
      ((codes[k + 4]! & 15) << 4) |
      ((codes[k + 1]! & 15) << 8) |
      ((codes[k + 5]! & 15) << 12) |
      ((codes[k + 2]! & 15) << 16) |
      ((codes[k + 6]! & 15) << 20) |
      ((codes[k + 3]! & 15) << 24) |
      ((codes[k + 7]! & 15) << 28);
  }
}

function packHighNibbles(codes: Uint8Array, words: Uint32Array, c: number): void {
  for (let k = 0, w = c; k < codes.length; k += 8, w += 16) {
    words[w] =
      (codes[k]! >> 4) |
      (codes[k + 4]! & 0xf0) |
      ((codes[k + 1]! >> 4) << 8) |
      ((codes[k + 5]! >> 4) << 12) |
      ((codes[k + 2]! >> 4) << 16) |
      ((codes[k + 6]! >> 4) << 20) |
      ((codes[k + 3]! >> 4) << 24) |
      ((codes[k + 7]! >> 4) << 28);
  }
}

/** `width` upper bits of each code: a word holds 8 / width quads of inputs. */
function packHighBits(codes: Uint8Array, words: Uint32Array, c: number, width: number): void {
  const quads = 8 / width;
  for (let k = 0, w = c; k < codes.length; k += 4 * quads, w += 16) {
    let word = 0;
    for (let q = 0; q < quads; q++)
      for (let i = 0; i < 4; i++) word |= (codes[k + 4 * q + i]! >> 4) << (8 * i + width * q);
    words[w] = word;
  }
}

function packGroupValues(
  values: GroupValues,
  block: Uint8Array,
  valuesAt: number,
  superAt: number,
  first: number,
  firstRow: number,
  rows: number,
  groups: number,
  supers: number,
): void {
  if ("superValues" in values) {
    transpose(values.codes, first, groups, rows, block.subarray(valuesAt, valuesAt + groups * 16));
    transpose(values.superValues, firstRow * supers, supers, rows, u16(block, superAt, supers * 16));
  } else if (values.kind === "f32") {
    const out = new Float32Array(block.buffer, block.byteOffset + valuesAt, groups * 16);
    transpose(values.values, first, groups, rows, out);
  } else transpose(values.values, first, groups, rows, u16(block, valuesAt, groups * 16));
}

/** from [rows, columns] starting at `first` to [columns, 16]. */
function transpose<T extends Uint8Array | Uint16Array | Float32Array>(
  from: T,
  first: number,
  columns: number,
  rows: number,
  to: T,
): void {
  for (let c = 0; c < rows; c++)
    for (let g = 0, at = first + c * columns; g < columns; g++) to[g * 16 + c] = from[at + g]!;
}

function u16(block: Uint8Array, at: number, length: number): Uint16Array {
  return new Uint16Array(block.buffer, block.byteOffset + at, length);
}
