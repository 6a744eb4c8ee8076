// src/quantize/grid.ts, for four outputs at a time.
import { floatsToHalves } from "../half";

export const SYMMETRIC: i32 = 0;
export const ZERO_POINT: i32 = 1;
export const OFFSET: i32 = 2;

/** How scales are stored. */
const F16: i32 = 1;
const BF16: i32 = 2;

export const SMALLEST_RANGE: f32 = 1e-9;
const FAR: f32 = 1024;

// @ts-ignore: decorator
@inline
export function stored4(type: i32, x: v128): v128 {
  if (type == F16) {
    const halves = floatsToHalves(x);
    const magnitude = i32x4.shl(v128.and(halves, i32x4.splat(0x7fff)), 13);
    const value = f32x4.mul(magnitude, f32x4.splat(reinterpret<f32>(<i32>(239 << 23))));
    return v128.or(value, v128.and(x, i32x4.splat(0x80000000)));
  }
  if (type == BF16) {
    const odd = v128.and(i32x4.shr_u(x, 16), i32x4.splat(1));
    return v128.and(i32x4.add(i32x4.add(x, i32x4.splat(0x7fff)), odd), i32x4.splat(0xffff0000));
  }
  return x;
}

// @ts-ignore: decorator
@inline
export function steps4(x: v128): v128 {
  return f32x4.nearest(f32x4.min(f32x4.max(x, f32x4.splat(-FAR)), f32x4.splat(FAR)));
}

// @ts-ignore: decorator
@inline
export function clamp4(x: v128, largest: v128): v128 {
  return f32x4.min(f32x4.max(x, f32x4.splat(0)), largest);
}

// @ts-ignore: decorator
@inline
export function code4(w: v128, scale: v128, zero: v128, offset: v128, largest: v128): v128 {
  const code = clamp4(f32x4.add(steps4(f32x4.div(f32x4.sub(w, offset), scale)), zero), largest);
  return v128.bitselect(zero, code, f32x4.eq(scale, f32x4.splat(0)));
}

// @ts-ignore: decorator
@inline
export function value4(code: v128, scale: v128, zero: v128, offset: v128): v128 {
  return f32x4.add(f32x4.mul(scale, f32x4.sub(code, zero)), offset);
}

/** Scales of four groups from their least and largest weights. */
// @ts-ignore: decorator
@inline
export function rangeScale4(lo: v128, hi: v128, kind: i32, largest: f32, type: i32): v128 {
  if (kind == SYMMETRIC) return stored4(type, f32x4.div(f32x4.max(hi, f32x4.neg(lo)), f32x4.splat(largest / 2)));
  const none = f32x4.splat(0);
  if (kind == OFFSET) return stored4(type, f32x4.div(offsetRange4(lo, hi), f32x4.splat(largest)));
  return stored4(type, f32x4.div(f32x4.sub(f32x4.max(hi, none), f32x4.min(lo, none)), f32x4.splat(largest)));
}

/** What goes with them: a zero for each group, or an offset. */
// @ts-ignore: decorator
@inline
export function rangeSecond4(lo: v128, hi: v128, scale: v128, kind: i32, largest: f32, zero: f32, type: i32): v128 {
  if (kind == SYMMETRIC) return f32x4.splat(zero);
  if (kind == OFFSET) {
    const exact = f32x4.div(offsetRange4(lo, hi), f32x4.splat(largest));
    return stored4(type, f32x4.add(lo, f32x4.mul(f32x4.splat(zero), exact)));
  }
  const none = f32x4.splat(0);
  const at = clamp4(steps4(f32x4.div(f32x4.neg(f32x4.min(lo, none)), scale)), f32x4.splat(largest));
  return v128.andnot(at, f32x4.eq(scale, none));
}

// @ts-ignore: decorator
@inline
export function offsetRange4(lo: v128, hi: v128): v128 {
  return f32x4.max(f32x4.sub(hi, lo), f32x4.splat(SMALLEST_RANGE));
}
