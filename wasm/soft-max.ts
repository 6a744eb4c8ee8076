import { exp4, fold16, tanh4 } from "./functions";

/**
 * Raw scores to weights e^(score − largest), in place; returns their sum. `scores` begins at a block of the cache; scores
 * before `first` and after `last` are what lay there, and get weight 0.
 */
export function softMax(scores: usize, first: i32, last: i32, scale: f32, softCap: f32): f32 {
  const end = scores + (<usize>((last >> 4) + 1) << 6);
  const scale4 = f32x4.splat(scale);
  for (let p = scores; p < end; p += 16) v128.store(p, f32x4.mul(v128.load(p), scale4));
  if (softCap != 0) {
    const cap4 = f32x4.splat(softCap);
    for (let p = scores; p < end; p += 16) v128.store(p, f32x4.mul(cap4, tanh4(f32x4.div(v128.load(p), cap4))));
  }
  for (let i = 0; i < first; i++) store<f32>(scores + (<usize>i << 2), -Infinity);
  for (let p = scores + (<usize>(last + 1) << 2); p < end; p += 4) store<f32>(p, -Infinity);

  let most = f32x4.splat(-Infinity);
  for (let p = scores; p < end; p += 16) most = f32x4.max(most, v128.load(p));
  most = f32x4.max(most, v128.shuffle<i32>(most, most, 2, 3, 0, 1));
  most = f32x4.max(most, v128.shuffle<i32>(most, most, 1, 0, 3, 2));

  let a = f32x4.splat(0);
  let b = a;
  let c = a;
  let d = a;
  for (let p = scores; p < end; p += 64) {
    const e0 = exp4(f32x4.sub(v128.load(p), most));
    const e1 = exp4(f32x4.sub(v128.load(p, 16), most));
    const e2 = exp4(f32x4.sub(v128.load(p, 32), most));
    const e3 = exp4(f32x4.sub(v128.load(p, 48), most));
    v128.store(p, e0);
    v128.store(p, e1, 16);
    v128.store(p, e2, 32);
    v128.store(p, e3, 48);
    a = f32x4.add(a, e0);
    b = f32x4.add(b, e1);
    c = f32x4.add(c, e2);
    d = f32x4.add(d, e3);
  }
  return fold16(a, b, c, d);
}
