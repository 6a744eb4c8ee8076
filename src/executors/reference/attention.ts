import { expF32, sum16, tanhF32 } from "../../arithmetic/functions.ts";

const f32 = Math.fround;

/** Reads one cached number: dim `d` of the key or value at a position. */
export type CachedNumber = (position: number, d: number) => number;

export interface AttentionParameters {
  readonly scale: number;
  /** 0: none. */
  readonly window: number;
  /** 0: none. */
  readonly softCap: number;
}

/** One head of one row: arithmetic rule 7. q, out f32 [headSize]; the row stands at `position`. */
export function attendHead(
  q: Float32Array,
  key: CachedNumber,
  value: CachedNumber,
  position: number,
  { scale, window, softCap }: AttentionParameters,
  out: Float32Array,
): void {
  const first = window ? Math.max(0, position - window + 1) : 0;
  const count = position + 1 - first;
  const weights = new Float32Array(count);
  let max = Number.NEGATIVE_INFINITY;
  for (let t = 0; t < count; t++) {
    let score = 0;
    for (let d = 0; d < q.length; d++) score = f32(score + f32(q[d]! * key(first + t, d)));
    score = f32(score * scale);
    if (softCap) score = f32(softCap * tanhF32(f32(score / softCap)));
    weights[t] = score;
    max = Math.max(max, score);
  }
  for (let t = 0; t < count; t++) weights[t] = expF32(f32(weights[t]! - max));
  const z = sum16(weights, count, first % 16);
  for (let d = 0; d < q.length; d++) {
    let sum = 0;
    for (let t = 0; t < count; t++) sum = f32(sum + f32(weights[t]! * value(first + t, d)));
    out[d] = sum / z;
  }
}
