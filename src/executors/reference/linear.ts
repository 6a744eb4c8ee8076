import { bf16ToF32, f16ToF32 } from "../../arithmetic/half.ts";
import type { FloatMatrix, QuantizedMatrix } from "../../weights/quantized-matrix.ts";
import { groupValue, offsetValue } from "../../weights/unpack.ts";

const f32 = Math.fround;

/** Quantised rows, unpacked: what `quantizeRow` made. */
export interface QuantizedRows {
  /** int16 [M, K]. */
  readonly codes: Int16Array[];
  /** f32 [M, ⌈K / group⌉]. */
  readonly scales: Float32Array[];
  readonly group: number;
}

/**
 * One output of arithmetic rule 4 for every row: y[m] = Σ over runs of scale·(I − zero·S)[+ offset·S] · sx.
 * `run` inputs are summed as integers at a time; runs lie inside one weight group and one activation group.
 */
export function quantizedOutput(w: QuantizedMatrix, n: number, x: QuantizedRows, run: number, y: Float32Array): void {
  const { K, groupSize, codeBook } = w;
  const groups = Math.ceil(K / groupSize);
  const values = new Int32Array(K);
  for (let k = 0; k < K; k++) {
    const code = w.codes[n * K + k]!;
    values[k] = codeBook ? codeBook[code]! : code;
  }
  y.fill(0);
  for (let first = 0; first < K; first += run) {
    const end = Math.min(K, first + run);
    const g = Math.floor(first / groupSize);
    const scale = groupValue(w, w.scale, n, g);
    const offset = w.offset ? offsetValue(w, n, g) : undefined;
    const zero = typeof w.zero === "number" ? w.zero : w.zero[n * groups + g]!;
    const sx = Math.floor(first / x.group);
    for (let m = 0; m < y.length; m++) {
      const codes = x.codes[m]!;
      let product = 0;
      let sum = 0;
      for (let k = first; k < end; k++) {
        product = (product + Math.imul(values[k]!, codes[k]!)) | 0;
        sum = (sum + codes[k]!) | 0;
      }
      const t = (product - Math.imul(zero, sum)) | 0;
      let u = f32(scale * f32(t));
      if (offset !== undefined) u = f32(u + f32(offset * f32(sum)));
      y[m] = y[m]! + f32(u * x.scales[m]![sx]!);
    }
  }
}

/** One output of a float matrix for every row: arithmetic rule 1 over K. */
export function floatOutput(w: FloatMatrix, n: number, x: Float32Array[], y: Float32Array): void {
  const { K, type, values } = w;
  const convert = type === "f32" ? f32 : type === "f16" ? f16ToF32 : bf16ToF32;
  y.fill(0);
  for (let k = 0; k < K; k++) {
    const weight = convert(values[n * K + k]!);
    for (let m = 0; m < y.length; m++) y[m] = y[m]! + f32(weight * x[m]![k]!);
  }
}
