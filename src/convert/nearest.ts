import { bf16ToF32, f16ToF32, f32ToBf16, f32ToF16 } from "../arithmetic/half.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import { groupCount, type Matrix, type QuantizedMatrix } from "../weights/quantized-matrix.ts";
import { groupValue, matrixRowToFloat, offsetValue } from "../weights/unpack.ts";
import { declaredForm, type FolderEncoding, type FolderForm, sizesFit } from "./folder-form.ts";

/** The form that rounded matrices get. */
export interface NearestForm {
  /** Whole zero points of each group, one in the middle for all, or a real offset of each group. */
  readonly kind: "zeros" | "middle" | "offsets";
  readonly bits: 4 | 8;
  /** Of scales and offsets. */
  readonly type: "f16" | "bf16";
  /** With offsets: the zero point that comes off codes first. */
  readonly zero?: number;
}

/** Groups in use; others become the first that divides the inputs. */
const GROUPS: readonly number[] = [32, 64, 128];

/**
 * A matrix as near as an encoding comes to it, and its form there; `refusal` is thrown where the encoding does not take its
 * shape at all. Each group keeps its codes under a rounded scale, or gets new ones between its least and its largest weight,
 * whichever errs less.
 */
export function nearest(
  source: MatrixSource,
  encoding: FolderEncoding,
  refusal: unknown,
): { source: MatrixSource; form: FolderForm } {
  const { like } = source;
  const wide = like.kind === "quantized" && like.bits > 4;
  const bits = wide && encoding !== "cpu_int4" && encoding !== "awq" ? 8 : 4;
  if (source.inputOrder || !sizesFit(source, encoding, bits)) throw refusal;
  const form: NearestForm =
    encoding === "cpu_int4" ? { kind: "offsets", bits, type: "bf16", zero: 8 } : { kind: "zeros", bits, type: "f16" };
  const rounded = nearestMatrix(source, form);
  return { source: rounded, form: declaredForm(rounded, encoding, { bits, scale: form.type, symmetric: false }) };
}

/** A matrix whose rows are rounded to a form as they are read. */
export function nearestMatrix(
  source: MatrixSource,
  form: NearestForm,
  groupSize: number = groupSizeFor(source),
): MatrixSource {
  const { name, N, K, rowBytes } = source;
  const round = (rows: Matrix): QuantizedMatrix => roundRows(rows, form, groupSize);
  return {
    name,
    N,
    K,
    rowBytes,
    like: round(source.like),
    readRows: async (first, count) => round(await source.readRows(first, count)),
  };
}

function groupSizeFor({ like, K }: MatrixSource): number {
  if (like.kind === "quantized" && GROUPS.includes(like.groupSize) && K % like.groupSize === 0) return like.groupSize;
  return GROUPS.find((size) => K % size === 0) ?? K;
}

/** Scale, zero point and offset of one group, and its codes. */
interface Group {
  readonly scale: number;
  readonly zero: number;
  readonly offset: number;
  readonly codes: Uint8Array;
}

function roundRows(rows: Matrix, form: NearestForm, groupSize: number): QuantizedMatrix {
  const { N, K } = rows;
  const groups = groupCount(K, groupSize);
  const { kind, bits, type } = form;
  const toBits = type === "bf16" ? f32ToBf16 : f32ToF16;
  const codes = new Uint8Array(N * K);
  const scale = new Uint16Array(N * groups);
  const zero = new Uint8Array(N * groups);
  const offset = new Uint16Array(N * groups);
  const row = new Float32Array(K);
  for (let n = 0; n < N; n++) {
    matrixRowToFloat(rows, n, row);
    for (let g = 0; g < groups; g++) {
      const first = g * groupSize;
      const weights = row.subarray(first, first + groupSize);
      const fresh = coded(weights, spanned(weights, form), form);
      const own = ownGrid(rows, n, first, groupSize, form);
      const kept = own;
      const best = kept && squaredError(weights, kept) <= squaredError(weights, fresh) ? kept : fresh;
      const at = n * groups + g;
      codes.set(best.codes, n * K + first);
      scale[at] = toBits(best.scale);
      zero[at] = best.zero;
      offset[at] = toBits(best.offset);
    }
  }
  return {
    kind: "quantized",
    N,
    K,
    bits,
    groupSize,
    codes,
    scale: { kind: type, values: scale },
    zero: kind === "zeros" ? zero : zeroOf(form),
    ...(kind === "offsets" && { offset: { kind: type, values: offset } }),
  };
}

function zeroOf({ zero, bits }: NearestForm): number {
  return zero ?? 2 ** (bits - 1);
}

type Grid = Omit<Group, "codes">;

/** A grid from the least weight to the largest; with zero points it has 0 on it, symmetric it ends at the largest. */
function spanned(weights: Float32Array, form: NearestForm): Grid {
  const { kind, bits, type } = form;
  const top = 2 ** bits - 1;
  let [least, largest] = kind === "offsets" ? [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY] : [0, 0];
  for (const weight of weights) {
    least = Math.min(least, weight);
    largest = Math.max(largest, weight);
  }
  const zero = zeroOf(form);
  if (kind === "offsets") {
    const scale = inType((largest - least) / top, type);
    return { scale, zero, offset: inType(least + zero * scale, type) };
  }
  if (kind === "middle") {
    // The code furthest from the middle is the lowest: it takes the weight that is furthest from 0, whatever its sign.
    const furthest = -least > largest ? least : largest;
    return { scale: inType(furthest / -zero, type), zero, offset: 0 };
  }
  const scale = inType((largest - least) / top, type);
  return { scale, zero: scale === 0 ? 0 : clamp(Math.round(-least / scale), top), offset: 0 };
}

/** The group's own grid and codes with rounded numbers, where groups agree and the codes fit. */
function ownGrid(rows: Matrix, n: number, first: number, groupSize: number, form: NearestForm): Group | undefined {
  const { kind, bits, type } = form;
  if (rows.kind === "float" || rows.codeBook || rows.bits > bits || rows.groupSize % groupSize !== 0) return undefined;
  const g = Math.floor(first / rows.groupSize);
  const step = groupValue(rows, rows.scale, n, g);
  const shift = 2 ** (bits - 1) - 2 ** (rows.bits - 1);
  const own = typeof rows.zero === "number" ? rows.zero : rows.zero[n * groupCount(rows.K, rows.groupSize) + g]!;
  const from = own + shift;
  const real = rows.offset ? offsetValue(rows, n, g) : 0;
  const row = rows.codes.subarray(n * rows.K + first, n * rows.K + first + groupSize);
  const codes = shift === 0 ? row : row.map((code) => code + shift);
  const zero = zeroOf(form);
  const scale = inType(step, type);
  if (kind === "offsets") return { scale, zero, offset: inType(real + (zero - from) * step, type), codes };
  const whole = step === 0 ? zero : clamp(Math.round(from - real / step), 2 ** bits - 1);
  return { scale, zero: kind === "middle" ? zero : whole, offset: 0, codes };
}

function coded(weights: Float32Array, grid: Grid, { bits }: NearestForm): Group {
  const { scale, zero, offset } = grid;
  const top = 2 ** bits - 1;
  const codes = new Uint8Array(weights.length).fill(Math.min(zero, top));
  // `from` with a function takes ten times as long.
  if (scale !== 0)
    for (let i = 0; i < weights.length; i++) codes[i] = clamp(Math.round((weights[i]! - offset) / scale + zero), top);
  return { ...grid, codes };
}

function squaredError(weights: Float32Array, { scale, zero, offset, codes }: Group): number {
  let sum = 0;
  for (let i = 0; i < weights.length; i++) sum += (scale * (codes[i]! - zero) + offset - weights[i]!) ** 2;
  return sum;
}

function clamp(code: number, top: number): number {
  return Math.min(top, Math.max(0, code));
}

function inType(value: number, type: NearestForm["type"]): number {
  return type === "f16" ? f16ToF32(f32ToF16(value)) : bf16ToF32(f32ToBf16(value));
}
