// src/quantize/reference/gptq.ts over a panel: each lane an output.
import { code4, OFFSET, value4 } from "./grid";
import { storeCodes } from "./search";

/** Columns that are brought up to date together: what they lost, 64 bytes a column, is read once for two of them. */
const BLOCK: i32 = 32;

/**
 * panel f32 [K][16], changed; factor f32 [K][K] by columns: row j has entries (i, j) of the upper factor, i ≤ j, in `order`;
 * scales and seconds f32 [groups][16] in the plain order; lost f32 [K][16], room; codes u8 [K][16] in the plain order.
 */
export function gptqPanel(
  panel: usize,
  factor: usize,
  order: usize,
  K: i32,
  G: i32,
  kind: i32,
  largest: f32,
  zero: f32,
  scales: usize,
  seconds: usize,
  lost: usize,
  codes: usize,
): void {
  const rowBytes = <usize>K << 2;
  for (let first = 0; first < K; first += BLOCK) {
    const end = min(K, first + BLOCK);
    let j = first;
    for (; j + 2 <= end; j += 2)
      correctTwo(
        panel + (<usize>load<i32>(order + (<usize>j << 2)) << 6),
        panel + (<usize>load<i32>(order + (<usize>(j + 1) << 2)) << 6),
        factor + <usize>j * rowBytes,
        factor + <usize>(j + 1) * rowBytes,
        lost,
        first,
      );
    for (; j < end; j++)
      correct(panel + (<usize>load<i32>(order + (<usize>j << 2)) << 6), factor + <usize>j * rowBytes, lost, 0, first);
    for (j = first; j < end; j++) {
      const input = load<i32>(order + (<usize>j << 2));
      const column = factor + <usize>j * rowBytes;
      const w = panel + (<usize>input << 6);
      correct(w, column, lost, first, j);
      const g = <usize>(input / G) << 6;
      codeColumn(w, kind, largest, zero, scales + g, seconds + g, load<f32>(column + (<usize>j << 2)), lost + (<usize>j << 6), codes + (<usize>input << 4));
    }
  }
}

/** w[16] −= lost[i][16] · factor[i], i from `from` to `to`. */
function correct(w: usize, factor: usize, lost: usize, from: i32, to: i32): void {
  let a = v128.load(w);
  let b = v128.load(w, 16);
  let c = v128.load(w, 32);
  let d = v128.load(w, 48);
  for (let i = <usize>from; i < <usize>to; i++) {
    const u = v128.load32_splat(factor + (i << 2));
    const e = lost + (i << 6);
    a = f32x4.sub(a, f32x4.mul(v128.load(e), u));
    b = f32x4.sub(b, f32x4.mul(v128.load(e, 16), u));
    c = f32x4.sub(c, f32x4.mul(v128.load(e, 32), u));
    d = f32x4.sub(d, f32x4.mul(v128.load(e, 48), u));
  }
  v128.store(w, a);
  v128.store(w, b, 16);
  v128.store(w, c, 32);
  v128.store(w, d, 48);
}

function correctTwo(w: usize, w2: usize, factor: usize, factor2: usize, lost: usize, to: i32): void {
  let a = v128.load(w);
  let b = v128.load(w, 16);
  let c = v128.load(w, 32);
  let d = v128.load(w, 48);
  let a2 = v128.load(w2);
  let b2 = v128.load(w2, 16);
  let c2 = v128.load(w2, 32);
  let d2 = v128.load(w2, 48);
  for (let i: usize = 0; i < <usize>to; i++) {
    const u = v128.load32_splat(factor + (i << 2));
    const u2 = v128.load32_splat(factor2 + (i << 2));
    const e = lost + (i << 6);
    let x = v128.load(e);
    a = f32x4.sub(a, f32x4.mul(x, u));
    a2 = f32x4.sub(a2, f32x4.mul(x, u2));
    x = v128.load(e, 16);
    b = f32x4.sub(b, f32x4.mul(x, u));
    b2 = f32x4.sub(b2, f32x4.mul(x, u2));
    x = v128.load(e, 32);
    c = f32x4.sub(c, f32x4.mul(x, u));
    c2 = f32x4.sub(c2, f32x4.mul(x, u2));
    x = v128.load(e, 48);
    d = f32x4.sub(d, f32x4.mul(x, u));
    d2 = f32x4.sub(d2, f32x4.mul(x, u2));
  }
  v128.store(w, a);
  v128.store(w, b, 16);
  v128.store(w, c, 32);
  v128.store(w, d, 48);
  v128.store(w2, a2);
  v128.store(w2, b2, 16);
  v128.store(w2, c2, 32);
  v128.store(w2, d2, 48);
}

function codeColumn(
  w: usize,
  kind: i32,
  largest: f32,
  zero: f32,
  scales: usize,
  seconds: usize,
  pivot: f32,
  lost: usize,
  codes: usize,
): void {
  for (let lane: usize = 0; lane < 4; lane++) {
    const scale = v128.load(scales + (lane << 4));
    const second = v128.load(seconds + (lane << 4));
    const zero4 = kind == OFFSET ? f32x4.splat(zero) : second;
    const offset = kind == OFFSET ? second : f32x4.splat(0);
    const x = v128.load(w + (lane << 4));
    const code = code4(x, scale, zero4, offset, f32x4.splat(largest));
    const difference = f32x4.sub(x, value4(code, scale, zero4, offset));
    v128.store(lost + (lane << 4), f32x4.div(difference, f32x4.splat(pivot)));
    storeCodes(codes + (lane << 2), code);
  }
}
