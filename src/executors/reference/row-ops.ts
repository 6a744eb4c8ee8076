import { geluErfF32, geluTanhF32, rsqrtF32, sigmoidF32, siluF32, sum16, tanhF32 } from "../../arithmetic/functions.ts";
import type { GateKind } from "../../plan/graph.ts";
import { ACTIVATION_MAX, type ActivationMode } from "../../plan/plan.ts";

const f32 = Math.fround;

/** y = (x · 1/√(mean x² + eps)) · w, then residual + y: arithmetic rule 5. All f32 [width]; y may be residual. */
export function rmsNorm(
  x: Float32Array,
  weight: Float32Array,
  eps: number,
  residual: Float32Array | undefined,
  y: Float32Array,
): void {
  const n = x.length;
  const squares = x.map((v) => v * v);
  const r = rsqrtF32(f32(f32(sum16(squares, n) / n) + f32(eps)));
  for (let i = 0; i < n; i++) {
    const value = f32(f32(x[i]! * r) * weight[i]!);
    y[i] = residual ? residual[i]! + value : value;
  }
}

/** Below this a group is all zeros: its scale would be no normal number. */
const SMALLEST_AMAX = f32(1e-30);

/** Adding and taking away 1.5 · 2²³ rounds an f32 below 2²² to an integer, ties to even. */
const ROUND = 12582912;

/**
 * Arithmetic rule 3. x f32 [K]; codes int16 [K]; scales f32 [⌈K / group⌉]; sums int32 [⌈K / run⌉] of the codes.
 * A NaN makes its group's scale NaN, so that it reaches the logits.
 */
export function quantizeRow(
  x: Float32Array,
  group: number,
  run: number,
  mode: ActivationMode,
  codes: Int16Array,
  scales: Float32Array,
  sums: Int32Array,
): void {
  const Q = ACTIVATION_MAX[mode];
  const K = x.length;
  sums.fill(0);
  for (let g = 0, first = 0; first < K; g++, first += group) {
    const end = Math.min(K, first + group);
    let amax = 0;
    for (let k = first; k < end; k++) amax = Math.max(amax, Math.abs(x[k]!));
    const zero = amax < SMALLEST_AMAX;
    const inverse = zero ? 0 : f32(Q / amax);
    scales[g] = zero ? 0 : amax / Q;
    for (let k = first; k < end; k++) {
      const rounded = f32(f32(f32(x[k]! * inverse) + ROUND) - ROUND);
      const code = Math.max(-Q, Math.min(Q, rounded)) | 0;
      codes[k] = code;
      sums[Math.floor(k / run)]! += code;
    }
  }
}

/** Turns one head in place: arithmetic rule 6. `angles` is f32 [rotary], cosines then sines. */
export function ropeHead(head: Float32Array, angles: Float32Array, rotary: number, neighbours: boolean): void {
  const half = rotary / 2;
  for (let i = 0; i < half; i++) {
    const [a, b] = neighbours ? [2 * i, 2 * i + 1] : [i, i + half];
    const [x0, x1, cos, sin] = [head[a]!, head[b]!, angles[i]!, angles[half + i]!];
    head[a] = f32(x0 * cos) - f32(x1 * sin);
    head[b] = f32(x1 * cos) + f32(x0 * sin);
  }
}

const ACTIVATION: Record<GateKind, (x: number) => number> = {
  silu: siluF32,
  "gelu-tanh": geluTanhF32,
  "gelu-erf": geluErfF32,
};

/** out = kind(gate) · up. */
export function gateRow(gate: Float32Array, up: Float32Array, kind: GateKind, out: Float32Array): void {
  const activation = ACTIVATION[kind];
  for (let i = 0; i < out.length; i++) out[i] = activation(gate[i]!) * up[i]!;
}

/** x · multiplier in place, then cap · tanh(x / cap) unless the cap is 0. */
export function scaleRow(x: Float32Array, multiplier: number, softCap: number): void {
  const [factor, cap] = [f32(multiplier), f32(softCap)];
  for (let i = 0; i < x.length; i++) {
    const value = f32(x[i]! * factor);
    x[i] = cap ? cap * tanhF32(f32(value / cap)) : value;
  }
}

/** out = sigmoid(gate[h]) · x, for each of the heads h of x. */
export function headGateRow(gate: Float32Array, x: Float32Array, out: Float32Array): void {
  const size = x.length / gate.length;
  for (let i = 0; i < x.length; i++) out[i] = sigmoidF32(gate[Math.floor(i / size)]!) * x[i]!;
}
