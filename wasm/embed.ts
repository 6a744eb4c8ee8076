import { halvesToFloats4 } from "./linear-half";
import {
  blockOf,
  codeBook,
  KIND_BF16,
  KIND_F16,
  KIND_F32,
  KIND_TWO_LEVEL_I8,
  KIND_TWO_LEVEL_U8,
  Matrix,
} from "./linear-matrix";

/**
 * Row `token` of a matrix as K f32: src/weights/unpack.ts, `matrixRowToFloat`; then times multiplier, unless that is 1.
 */
export function embedRow(record: usize, token: i32, multiplier: f32, out: usize): void {
  const matrix = changetype<Matrix>(record);
  const block = blockOf(matrix, token >> 4);
  if (matrix.quantized) quantizedRow(matrix, block, token & 15, out);
  else floatRow(matrix, block, token & 15, out);
  if (multiplier == 1) return;
  const end = out + (<usize>matrix.inputs << 2);
  for (; out < end; out += 4) store<f32>(out, load<f32>(out) * multiplier);
}

/** One number of a flat kind. */
function numberAt(kind: i32, values: usize, index: i32): f32 {
  if (kind == KIND_F32) return load<f32>(values + (<usize>index << 2));
  const bits = load<u16>(values + (<usize>index << 1));
  if (kind == KIND_BF16) return reinterpret<f32>(<u32>bits << 16);
  return f32x4.extract_lane(halvesToFloats4(i32x4.splat(<i32>(<i16>bits))), 0);
}

function floatRow(matrix: Matrix, block: usize, c: i32, out: usize): void {
  const kind = matrix.valueKind;
  const K = matrix.inputs;
  for (let k = 0; k < K; k++, out += 4) store<f32>(out, numberAt(kind, block, (k << 4) + c));
}

/** The value of output c and a group; a two-level one is rounded once. */
function groupValue(matrix: Matrix, kind: i32, values: usize, supers: usize, c: i32, group: i32): f32 {
  const index = (group << 4) + c;
  if (kind < KIND_TWO_LEVEL_U8) return numberAt(kind, values, index);
  const above = numberAt(KIND_F16, supers, (((group * matrix.groupSize) / matrix.superSize) << 4) + c);
  return above * (kind == KIND_TWO_LEVEL_I8 ? <f32>load<i8>(values + index) : <f32>load<u8>(values + index));
}

function quantizedRow(matrix: Matrix, block: usize, c: i32, out: usize): void {
  const K = matrix.inputs;
  const groupSize = matrix.groupSize;
  const hasBook = v128.any_true(codeBook(matrix));
  for (let group = 0, k = 0; k < K; group++) {
    const scale = groupValue(
      matrix,
      matrix.valueKind,
      block + matrix.scaleAt,
      block + matrix.superScaleAt,
      c,
      group,
    );
    const kind = matrix.offsetKind;
    let offset: f32 = 0;
    if (kind >= 0) {
      offset = groupValue(matrix, kind, block + matrix.offsetAt, block + matrix.superOffsetAt, c, group);
      if (kind >= KIND_TWO_LEVEL_U8) offset = -offset;
    }
    const zero = matrix.hasZeros ? <i32>load<u8>(block + matrix.zeroAt + (group << 4) + c) : matrix.zero;
    const end = min(K, k + groupSize);
    for (; k < end; k++, out += 4) {
      const code = codeAt(matrix, block, c, k);
      const value = hasBook ? <i32>load<i8>(changetype<usize>(matrix) + offsetof<Matrix>("codeBook") + code) : code;
      const weight = scale * <f32>(value - zero);
      store<f32>(out, kind >= 0 ? weight + offset : weight);
    }
  }
}

/** The code of output c and input k: src/weights/packed-layout.ts says where its bits are. */
function codeAt(matrix: Matrix, block: usize, c: i32, k: i32): i32 {
  const byte = ((k >> 3) << 6) + (c << 2) + (k & 3);
  const shift = k & 4;
  const low = (<i32>load<u8>(block + byte) >> shift) & 15;
  const bits = matrix.bits;
  if (bits == 4) return low;
  const high = block + matrix.highAt;
  if (bits == 8) return low | (((<i32>load<u8>(high + byte) >> shift) & 15) << 4);
  const within = (c << 2) + (k & 3);
  if (bits == 6) return low | (((<i32>load<u8>(high + ((k >> 4) << 6) + within) >> ((k >> 1) & 6)) & 3) << 4);
  return low | (((<i32>load<u8>(high + ((k >> 5) << 6) + within) >> ((k >> 2) & 7)) & 1) << 4);
}
