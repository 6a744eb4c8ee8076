import { fold16 } from "./functions";
import { vectorAt } from "./matrix";
import { FIELDS, number, row, word } from "./record";

/** RMS norm of every head of rows first … end − 1: arithmetic rule 5. */
export function normRows(record: usize, first: i32, end: i32): void {
  const heads = word(record, FIELDS + 5);
  const size = word(record, FIELDS + 4) / heads;
  const weight = vectorAt(word(record, FIELDS + 6));
  const eps = number(record, FIELDS + 7);
  const hasResidual = word(record, FIELDS + 8) >= 0;
  const headBytes = <usize>size << 2;
  for (let m = first; m < end; m++) {
    const x = row(record, FIELDS, m);
    const y = row(record, FIELDS + 2, m);
    const residual = hasResidual ? row(record, FIELDS + 8, m) : 0;
    for (let h: usize = 0, at: usize = 0; h < <usize>heads; h++, at += headBytes)
      normHead(x + at, size, weight, eps, hasResidual ? residual + at : 0, y + at);
  }
}

function normHead(x: usize, size: i32, weight: usize, eps: f32, residual: usize, y: usize): void {
  const meanSquare = sumOfSquares(x, size) / <f32>size;
  const r: f32 = <f32>1 / sqrt<f32>(meanSquare + eps);
  const r4 = f32x4.splat(r);
  const bytes = <usize>size << 2;
  const vectorBytes = <usize>(size & ~3) << 2;
  let i: usize = 0;
  if (residual) {
    for (; i < vectorBytes; i += 16) {
      const value = f32x4.mul(f32x4.mul(v128.load(x + i), r4), v128.load(weight + i));
      v128.store(y + i, f32x4.add(v128.load(residual + i), value));
    }
    for (; i < bytes; i += 4)
      store<f32>(y + i, load<f32>(residual + i) + load<f32>(x + i) * r * load<f32>(weight + i));
  } else {
    for (; i < vectorBytes; i += 16)
      v128.store(y + i, f32x4.mul(f32x4.mul(v128.load(x + i), r4), v128.load(weight + i)));
    for (; i < bytes; i += 4) store<f32>(y + i, load<f32>(x + i) * r * load<f32>(weight + i));
  }
}

/** In the order of arithmetic rule 2. */
function sumOfSquares(x: usize, size: i32): f32 {
  let a = f32x4.splat(0);
  let b = a;
  let c = a;
  let d = a;
  const full = x + (<usize>(size & ~15) << 2);
  for (; x < full; x += 64) {
    a = f32x4.add(a, square(v128.load(x)));
    b = f32x4.add(b, square(v128.load(x, 16)));
    c = f32x4.add(c, square(v128.load(x, 32)));
    d = f32x4.add(d, square(v128.load(x, 48)));
  }
  const rest = size & 15;
  a = f32x4.add(a, square(loadFirst(x, rest)));
  b = f32x4.add(b, square(loadFirst(x + 16, rest - 4)));
  c = f32x4.add(c, square(loadFirst(x + 32, rest - 8)));
  d = f32x4.add(d, square(loadFirst(x + 48, rest - 12)));
  return fold16(a, b, c, d);
}

// @ts-ignore: decorator
@inline
function square(x: v128): v128 {
  return f32x4.mul(x, x);
}

/** The first `count` of four numbers, +0 for the rest. */
function loadFirst(p: usize, count: i32): v128 {
  if (count >= 4) return v128.load(p);
  if (count <= 0) return f32x4.splat(0);
  if (count == 1) return v128.load32_zero(p);
  const two = v128.load64_zero(p);
  return count == 2 ? two : v128.load32_lane(p, two, 2, 8);
}
