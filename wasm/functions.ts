// src/arithmetic/functions.ts, four numbers at a time: the same operations in the same order, so the same bits.

const ROUND_MAGIC: f32 = 12582912;
const LOG2_E: f32 = 1.4426950216293335;
const LN2_HIGH: f32 = 0.693359375;
const LN2_LOW: f32 = -0.00021219444170128554;
const EXP_MAX_INPUT: f32 = 88.72283172607422;
const EXP_MIN_INPUT: f32 = -87.33654022216797;
const E2: f32 = 0.4999999403953552;
const E3: f32 = 0.16666516661643982;
const E4: f32 = 0.04166810214519501;
const E5: f32 = 0.00836919154971838;
const E6: f32 = 0.001383878057822585;

/** a · b + c, each rounded. */
// @ts-ignore: decorator
@inline
function multiplyAdd(a: v128, b: v128, c: f32): v128 {
  return f32x4.add(f32x4.mul(a, b), f32x4.splat(c));
}

// @ts-ignore: decorator
@inline
export function exp4(x: v128): v128 {
  const shifted = multiplyAdd(x, f32x4.splat(LOG2_E), ROUND_MAGIC);
  const n = f32x4.sub(shifted, f32x4.splat(ROUND_MAGIC));
  const r = f32x4.sub(f32x4.sub(x, f32x4.mul(n, f32x4.splat(LN2_HIGH))), f32x4.mul(n, f32x4.splat(LN2_LOW)));
  let q = multiplyAdd(f32x4.splat(E6), r, E5);
  q = multiplyAdd(q, r, E4);
  q = multiplyAdd(q, r, E3);
  q = multiplyAdd(q, r, E2);
  const e = f32x4.add(f32x4.add(f32x4.mul(q, f32x4.mul(r, r)), r), f32x4.splat(1));
  const scaled = i32x4.add(e, i32x4.shl(shifted, 23));
  const finite = v128.andnot(scaled, f32x4.lt(x, f32x4.splat(EXP_MIN_INPUT)));
  const other = f32x4.add(x, f32x4.splat(Infinity));
  return v128.bitselect(finite, other, f32x4.le(x, f32x4.splat(EXP_MAX_INPUT)));
}

const T0: f32 = -0.3333328068256378;
const T1: f32 = 0.13331405818462372;
const T2: f32 = -0.05373651534318924;
const T3: f32 = 0.02062816731631756;
const T4: f32 = -0.005692296661436558;

// @ts-ignore: decorator
@inline
export function tanh4(x: v128): v128 {
  const a = f32x4.abs(x);
  const z = f32x4.mul(x, x);
  let p = multiplyAdd(f32x4.splat(T4), z, T3);
  p = multiplyAdd(p, z, T2);
  p = multiplyAdd(p, z, T1);
  p = multiplyAdd(p, z, T0);
  const near = f32x4.add(x, f32x4.mul(f32x4.mul(p, z), x));
  const one = f32x4.splat(1);
  const far = f32x4.sub(one, f32x4.div(f32x4.splat(2), f32x4.add(exp4(f32x4.add(a, a)), one)));
  return v128.bitselect(near, withSign(far, x), f32x4.lt(a, f32x4.splat(0.625)));
}

/** far, or −far where x < 0. */
// @ts-ignore: decorator
@inline
function withSign(far: v128, x: v128): v128 {
  return v128.bitselect(f32x4.neg(far), far, f32x4.lt(x, f32x4.splat(0)));
}

// @ts-ignore: decorator
@inline
export function sigmoid4(x: v128): v128 {
  return f32x4.div(f32x4.splat(1), f32x4.add(f32x4.splat(1), exp4(f32x4.neg(x))));
}

// @ts-ignore: decorator
@inline
export function silu4(x: v128): v128 {
  return f32x4.div(x, f32x4.add(f32x4.splat(1), exp4(f32x4.neg(x))));
}

const GELU_LINEAR: f32 = 1.595769166946411;
const GELU_CUBIC: f32 = 0.07135481387376785;

// @ts-ignore: decorator
@inline
export function geluTanh4(x: v128): v128 {
  const u = f32x4.mul(x, multiplyAdd(f32x4.splat(GELU_CUBIC), f32x4.mul(x, x), GELU_LINEAR));
  return f32x4.div(x, f32x4.add(f32x4.splat(1), exp4(f32x4.neg(u))));
}

const ERFC_SCALE: f32 = 0.328125;
const C1: f32 = 0.18518297374248505;
const C2: f32 = 0.18338407576084137;
const C3: f32 = 0.1929500252008438;
const C4: f32 = 0.06487943232059479;
const C5: f32 = 0.3857029974460602;
const C6: f32 = -0.33859559893608093;
const C7: f32 = 0.4603625237941742;
const C8: f32 = -0.13386644423007965;

/** erfc(a) for a ≥ 0. */
// @ts-ignore: decorator
@inline
function complementaryErf4(a: v128): v128 {
  const t = f32x4.div(f32x4.splat(1), multiplyAdd(f32x4.splat(ERFC_SCALE), a, 1));
  let p = multiplyAdd(f32x4.splat(C8), t, C7);
  p = multiplyAdd(p, t, C6);
  p = multiplyAdd(p, t, C5);
  p = multiplyAdd(p, t, C4);
  p = multiplyAdd(p, t, C3);
  p = multiplyAdd(p, t, C2);
  p = multiplyAdd(p, t, C1);
  return f32x4.mul(f32x4.mul(p, t), exp4(f32x4.neg(f32x4.mul(a, a))));
}

const SQRT_HALF: f32 = 0.7071067690849304;

// @ts-ignore: decorator
@inline
export function geluErf4(x: v128): v128 {
  const a = f32x4.mul(f32x4.abs(x), f32x4.splat(SQRT_HALF));
  const tail = f32x4.mul(f32x4.splat(0.5), complementaryErf4(a));
  const phi = v128.bitselect(tail, f32x4.sub(f32x4.splat(1), tail), f32x4.lt(x, f32x4.splat(0)));
  return f32x4.mul(x, phi);
}

/** The last folds of arithmetic rule 2: lanes 0–3, 4–7, 8–11 and 12–15 to one sum. */
// @ts-ignore: decorator
@inline
export function fold16(a: v128, b: v128, c: v128, d: v128): f32 {
  const four = f32x4.add(f32x4.add(a, c), f32x4.add(b, d));
  const two = f32x4.add(four, v128.shuffle<i32>(four, four, 2, 3, 0, 1));
  return f32x4.extract_lane(two, 0) + f32x4.extract_lane(two, 1);
}
