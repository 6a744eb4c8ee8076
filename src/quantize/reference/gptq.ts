import { codeOf, type Grid, type GroupParameters, weightOf } from "../grid.ts";

const { fround } = Math;

/**
 * One output's codes by GPTQ (Frantar and others, 2022). Columns are taken in `order`; what rounding column i loses is made
 * good on those after it, by row i of the upper Cholesky factor of the inverse Hessian, whose rows and columns are in that
 * order too. Each correction is rounded to f32, corrections come in ascending order.
 *
 * weights f32 [K], factor f32 [K, K], parameters by group of inputs; all in the plain order of inputs but for the factor.
 */
export function gptqRow(
  weights: Float32Array,
  factor: Float32Array,
  order: Int32Array,
  parameters: readonly GroupParameters[],
  grid: Grid,
): Uint8Array {
  const K = weights.length;
  const largest = 2 ** grid.bits - 1;
  const codes = new Uint8Array(K);
  const lost = new Float32Array(K);
  for (let j = 0; j < K; j++) {
    const input = order[j]!;
    const group = parameters[Math.floor(input / grid.groupSize)]!;
    let weight = weights[input]!;
    for (let i = 0; i < j; i++) weight = fround(weight - fround(lost[i]! * factor[i * K + j]!));
    const code = codeOf(weight, group, largest);
    codes[input] = code;
    lost[j] = fround(fround(weight - weightOf(code, group)) / factor[j * K + j]!);
  }
  return codes;
}
