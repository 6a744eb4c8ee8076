import { LOGIT_ROWS, ROPE_TABLES, TOKEN_IDS } from "./control";
import { embedRow } from "./embed";
import { geluErf4, geluTanh4, sigmoid4, silu4, tanh4 } from "./functions";
import { matrixAt } from "./matrix";
import { quantizeRow } from "./quantize";
import { FIELDS, number, row, word } from "./record";

// Ops on rows first … end − 1. Rows stand 64 bytes apart or a multiple of it, so that a vector may run into the padding.

export function embedRows(record: usize, first: i32, end: i32): void {
  const matrix = matrixAt(word(record, FIELDS));
  const multiplier = number(record, FIELDS + 4);
  const ids = load<usize>(TOKEN_IDS);
  for (let m = first; m < end; m++)
    embedRow(matrix, load<i32>(ids + (<usize>m << 2)), multiplier, row(record, FIELDS + 1, m));
}

export function gatherRows(record: usize, first: i32, end: i32): void {
  const bytes = <usize>word(record, FIELDS + 4) << 2;
  const numbers = load<usize>(LOGIT_ROWS);
  for (let m = first; m < end; m++)
    memory.copy(row(record, FIELDS + 2, m), row(record, FIELDS, load<i32>(numbers + (<usize>m << 2))), bytes);
}

export function reorderRows(record: usize, first: i32, end: i32): void {
  const bytes = <usize>word(record, FIELDS + 4) << 2;
  const order = record + (<usize>(FIELDS + 5) << 2);
  for (let m = first; m < end; m++) {
    const x = row(record, FIELDS, m);
    const y = row(record, FIELDS + 2, m);
    for (let i: usize = 0; i < bytes; i += 4) store<f32>(y + i, load<f32>(x + (<usize>load<i32>(order + i) << 2)));
  }
}

export function quantizeRows(record: usize, first: i32, end: i32, max: f32): void {
  const K = word(record, FIELDS + 4);
  const paddedK = word(record, FIELDS + 5);
  const group = word(record, FIELDS + 6);
  const run = word(record, FIELDS + 7);
  const scaleAt = word(record, FIELDS + 8);
  const sumAt = word(record, FIELDS + 9);
  for (let m = first; m < end; m++)
    quantizeRow(row(record, FIELDS, m), row(record, FIELDS + 2, m), K, paddedK, group, run, scaleAt, sumAt, max);
}

export function gateRows(record: usize, first: i32, end: i32): void {
  const bytes = <usize>word(record, FIELDS + 6) << 2;
  const kind = word(record, FIELDS + 7);
  for (let m = first; m < end; m++) {
    const gate = row(record, FIELDS, m);
    const up = row(record, FIELDS + 2, m);
    const out = row(record, FIELDS + 4, m);
    if (kind == 0)
      for (let i: usize = 0; i < bytes; i += 16)
        v128.store(out + i, f32x4.mul(silu4(v128.load(gate + i)), v128.load(up + i)));
    else if (kind == 1)
      for (let i: usize = 0; i < bytes; i += 16)
        v128.store(out + i, f32x4.mul(geluTanh4(v128.load(gate + i)), v128.load(up + i)));
    else
      for (let i: usize = 0; i < bytes; i += 16)
        v128.store(out + i, f32x4.mul(geluErf4(v128.load(gate + i)), v128.load(up + i)));
  }
}

export function scaleRows(record: usize, first: i32, end: i32): void {
  const bytes = <usize>word(record, FIELDS + 2) << 2;
  const multiplier = f32x4.splat(number(record, FIELDS + 3));
  const softCap = number(record, FIELDS + 4);
  const cap = f32x4.splat(softCap);
  for (let m = first; m < end; m++) {
    const x = row(record, FIELDS, m);
    for (let i: usize = 0; i < bytes; i += 16) {
      const scaled = f32x4.mul(v128.load(x + i), multiplier);
      v128.store(x + i, softCap ? f32x4.mul(cap, tanh4(f32x4.div(scaled, cap))) : scaled);
    }
  }
}

export function headGateRows(record: usize, first: i32, end: i32): void {
  const heads = word(record, FIELDS + 6);
  const headBytes = <usize>word(record, FIELDS + 7) << 2;
  for (let m = first; m < end; m++) {
    let gate = row(record, FIELDS, m);
    let x = row(record, FIELDS + 2, m);
    let out = row(record, FIELDS + 4, m);
    for (let h = 0; h < heads; h++, gate += 4, x += headBytes, out += headBytes) {
      const factor = f32x4.extract_lane(sigmoid4(v128.load32_splat(gate)), 0);
      for (let i: usize = 0; i < headBytes; i += 4) store<f32>(out + i, factor * load<f32>(x + i));
    }
  }
}

export function addRows(record: usize, first: i32, end: i32): void {
  const bytes = <usize>word(record, FIELDS + 6) << 2;
  for (let m = first; m < end; m++) {
    const a = row(record, FIELDS, m);
    const b = row(record, FIELDS + 2, m);
    const out = row(record, FIELDS + 4, m);
    for (let i: usize = 0; i < bytes; i += 16) v128.store(out + i, f32x4.add(v128.load(a + i), v128.load(b + i)));
  }
}

export function ropeRows(record: usize, first: i32, end: i32): void {
  const heads = word(record, FIELDS + 2);
  const headBytes = <usize>word(record, FIELDS + 3) << 2;
  const half = word(record, FIELDS + 4) >> 1;
  const neighbours = word(record, FIELDS + 6);
  const angleBytes = <usize>half << 3;
  const table = load<usize>(load<usize>(ROPE_TABLES) + (<usize>word(record, FIELDS + 5) << 2));
  for (let m = first; m < end; m++) {
    const cosines = table + <usize>m * angleBytes;
    const sines = cosines + (<usize>half << 2);
    let head = row(record, FIELDS, m);
    for (let h = 0; h < heads; h++, head += headBytes)
      if (neighbours) turnNeighbours(head, cosines, sines, half);
      else turnHalves(head, cosines, sines, half);
  }
}

function turnHalves(head: usize, cosines: usize, sines: usize, half: i32): void {
  const bytes = <usize>half << 2;
  const vectorBytes = <usize>(half & ~3) << 2;
  let i: usize = 0;
  for (; i < vectorBytes; i += 16) {
    const x0 = v128.load(head + i);
    const x1 = v128.load(head + bytes + i);
    const cos = v128.load(cosines + i);
    const sin = v128.load(sines + i);
    v128.store(head + i, f32x4.sub(f32x4.mul(x0, cos), f32x4.mul(x1, sin)));
    v128.store(head + bytes + i, f32x4.add(f32x4.mul(x1, cos), f32x4.mul(x0, sin)));
  }
  for (; i < bytes; i += 4) turn(head + i, head + bytes + i, load<f32>(cosines + i), load<f32>(sines + i));
}

function turnNeighbours(head: usize, cosines: usize, sines: usize, half: i32): void {
  const bytes = <usize>half << 2;
  const vectorBytes = <usize>(half & ~3) << 2;
  let i: usize = 0;
  for (; i < vectorBytes; i += 16) {
    const at = head + (i << 1);
    const a = v128.load(at);
    const b = v128.load(at, 16);
    const x0 = v128.shuffle<f32>(a, b, 0, 2, 4, 6);
    const x1 = v128.shuffle<f32>(a, b, 1, 3, 5, 7);
    const cos = v128.load(cosines + i);
    const sin = v128.load(sines + i);
    const y0 = f32x4.sub(f32x4.mul(x0, cos), f32x4.mul(x1, sin));
    const y1 = f32x4.add(f32x4.mul(x1, cos), f32x4.mul(x0, sin));
    v128.store(at, v128.shuffle<f32>(y0, y1, 0, 4, 1, 5));
    v128.store(at, v128.shuffle<f32>(y0, y1, 2, 6, 3, 7), 16);
  }
  for (; i < bytes; i += 4) {
    const at = head + (i << 1);
    turn(at, at + 4, load<f32>(cosines + i), load<f32>(sines + i));
  }
}

function turn(a: usize, b: usize, cos: f32, sin: f32): void {
  const x0 = load<f32>(a);
  const x1 = load<f32>(b);
  store<f32>(a, x0 * cos - x1 * sin);
  store<f32>(b, x1 * cos + x0 * sin);
}
