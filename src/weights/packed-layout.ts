import { HalfbyteError } from "../errors.ts";
import {
  activationGroupSize,
  type CodeBits,
  type FloatType,
  type GroupValues,
  groupCount,
  type Matrix,
} from "./quantized-matrix.ts";

/** Outputs in one block of the packed layout: one 512-bit register of int32. */
export const BLOCK_OUTPUTS = 16;

/** Kernels index bytes with signed 32-bit numbers inside one matrix, and a wasm memory ends at 4 GiB. */
const MAX_MATRIX_BYTES: number = 2 ** 31 - 2 ** 16;

/**
 * Where everything of a quantised matrix stands. One block holds 16 outputs:
 *
 *     nibble plane · high plane · super scales · super offsets · scales · zeros · offsets · padding to 64 bytes
 *
 * - nibble plane: per octet of inputs 64 bytes; byte `4c + i` has output c, input i in the low and input 4 + i in the high nibble.
 * - high plane: 8-bit codes: the upper nibbles, laid out as the nibble plane. 6-bit: per 16 inputs 64 bytes; byte `4c + i`
 *   has in bits 2q, 2q+1 the upper two bits of input 4q + i (q 0..3). 5-bit: per 32 inputs 64 bytes; bit q of byte `4c + i`
 *   is the upper bit of input 4q + i (q 0..7).
 * - group values: [groups][16 outputs], in the file's own type; super values: [supers][16 outputs] in f16.
 *
 * Outputs past N and inputs past K are zero bytes; activations past K have code 0, so padding adds nothing to a sum.
 */
export interface QuantizedLayout {
  readonly kind: "quantized";
  readonly N: number;
  readonly K: number;
  readonly bits: CodeBits;
  readonly groupSize: number;
  readonly groups: number;
  readonly codeBook: Int8Array | undefined;
  readonly scale: GroupValues["kind"];
  /** One zero point for all codes, or one byte per group. */
  readonly zero: number | "u8";
  readonly offset: GroupValues["kind"] | undefined;
  /** Inputs under one super value; 0 where no value is two-level. */
  readonly superSize: number;
  /** Inputs per activation group. */
  readonly activationGroup: number;
  /** Column j has the weights of input `inputOrder[j]`; absent: of input j. A plan reorders inputs so; the bytes do not say it. */
  readonly inputOrder?: Int32Array;
  readonly blocks: number;
  /** K rounded up to 32 inputs, the widest unit of a plane. */
  readonly paddedK: number;
  /** Byte offsets inside a block. */
  readonly highAt: number;
  readonly superScaleAt: number;
  readonly superOffsetAt: number;
  readonly scaleAt: number;
  readonly zeroAt: number;
  readonly offsetAt: number;
  readonly blockBytes: number;
  readonly byteLength: number;
}

/** Float weights: per block of 16 outputs `[K][16]` numbers, each in the file's own type. */
export interface FloatLayout {
  readonly kind: "float";
  readonly N: number;
  readonly K: number;
  readonly type: FloatType;
  readonly blocks: number;
  readonly blockBytes: number;
  readonly byteLength: number;
}

export type PackedLayout = QuantizedLayout | FloatLayout;

/** A matrix in kernel layout; `bytes` may stand in an executor's own memory. */
export interface PackedMatrix {
  readonly layout: PackedLayout;
  readonly bytes: Uint8Array;
}

const VALUE_BYTES: Record<GroupValues["kind"], number> = {
  f32: 4,
  f16: 2,
  bf16: 2,
  "two-level-u8": 1,
  "two-level-i8": 1,
};

function roundUp(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit;
}

/**
 * The layout of a matrix of N outputs that is otherwise like `like` (which may have any number of rows, even none), its
 * columns perhaps in an order of their own. Throws ERR_SHAPE or ERR_UNSUPPORTED where the packed layout cannot hold it,
 * ERR_LIMIT where it is too large.
 */
export function packedLayout(like: Matrix, N: number, place: string, inputOrder?: Int32Array): PackedLayout {
  const { K } = like;
  if (!Number.isSafeInteger(N) || N < 1 || !Number.isSafeInteger(K) || K < 1)
    throw new HalfbyteError("ERR_SHAPE", "a matrix needs at least one output and one input", {
      place,
      got: `[${N}, ${K}]`,
    });
  const blocks = Math.ceil(N / BLOCK_OUTPUTS);
  const layout = like.kind === "float" ? floatLayout(like.type, N, K, blocks) : quantizedLayout(like, N, blocks, place);
  if (layout.byteLength > MAX_MATRIX_BYTES)
    throw new HalfbyteError("ERR_LIMIT", "matrix too large for one executor", {
      place,
      expected: `at most ${MAX_MATRIX_BYTES} bytes`,
      got: `${layout.byteLength}`,
    });
  if (!inputOrder) return layout;
  if (layout.kind === "quantized") return { ...layout, inputOrder };
  throw new HalfbyteError("ERR_UNSUPPORTED", "a matrix of floats needs no order of inputs", { place });
}

function floatLayout(type: FloatType, N: number, K: number, blocks: number): FloatLayout {
  const blockBytes = roundUp(K * BLOCK_OUTPUTS * (type === "f32" ? 4 : 2), 64);
  return { kind: "float", N, K, type, blocks, blockBytes, byteLength: blocks * blockBytes };
}

function quantizedLayout(
  like: Extract<Matrix, { kind: "quantized" }>,
  N: number,
  blocks: number,
  place: string,
): QuantizedLayout {
  const { K, bits, groupSize } = like;
  const unit = bits === 5 ? 32 : 16;
  const perOutput = groupSize >= K;
  const A = activationGroupSize(groupSize, K);
  if (!perOutput && (groupSize % unit !== 0 || Math.max(groupSize, A) % Math.min(groupSize, A) !== 0))
    throw new HalfbyteError("ERR_UNSUPPORTED", `group size ${groupSize} does not fit the packed layout`, {
      place,
      expected: `K itself, or a multiple of ${unit} up to 128, or a multiple of 128`,
    });
  const superSizes = [like.scale, like.offset].flatMap((v) => (v && "superSize" in v ? [v.superSize] : []));
  const superSize = superSizes[0] ?? 0;
  if (superSizes.some((size) => size !== superSize || size % groupSize !== 0))
    throw new HalfbyteError("ERR_UNSUPPORTED", "two-level values must share one super size, a multiple of the group", {
      place,
    });
  const groups = groupCount(K, groupSize);
  const supers = superSize ? Math.ceil(K / superSize) : 0;
  const paddedK = roundUp(K, 32);
  const highAt = paddedK * 8;
  const superScaleAt = highAt + paddedK * (bits === 8 ? 8 : 2 * (bits - 4));
  const superOffsetAt = superScaleAt + ("superSize" in like.scale ? supers * 32 : 0);
  const scaleAt = superOffsetAt + (like.offset && "superSize" in like.offset ? supers * 32 : 0);
  const zeroAt = scaleAt + groups * 16 * VALUE_BYTES[like.scale.kind];
  const offsetAt = zeroAt + (typeof like.zero === "number" ? 0 : groups * 16);
  const blockBytes = roundUp(offsetAt + (like.offset ? groups * 16 * VALUE_BYTES[like.offset.kind] : 0), 64);
  return {
    kind: "quantized",
    N,
    K,
    bits,
    groupSize: perOutput ? K : groupSize,
    groups,
    codeBook: like.codeBook,
    scale: like.scale.kind,
    zero: typeof like.zero === "number" ? like.zero : "u8",
    offset: like.offset?.kind,
    superSize,
    activationGroup: A,
    blocks,
    paddedK,
    highAt,
    superScaleAt,
    superOffsetAt,
    scaleAt,
    zeroAt,
    offsetAt,
    blockBytes,
    byteLength: blocks * blockBytes,
  };
}
