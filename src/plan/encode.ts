import type { PackedLayout } from "../weights/packed-layout.ts";
import type { Plan, PlanOp, QuantizedBuffer, RowBuffer } from "./plan.ts";

/** Op numbers of the flat form. wasm/ and native/ have the same. */
const OPCODE: Readonly<Record<PlanOp["op"], number>> = {
  embed: 1,
  gather: 2,
  norm: 3,
  quantize: 4,
  linear: 5,
  rope: 6,
  store: 7,
  attention: 8,
  gate: 9,
  add: 10,
  reorder: 11,
  scale: 12,
  headGate: 13,
};

const GATE = { silu: 0, "gelu-tanh": 1, "gelu-erf": 2 } as const;
const PAIRING = { halves: 0, neighbours: 1 } as const;
const ROWS = { tokens: 0, selected: 1, logits: 2 } as const;
const FLOAT_KIND = { f32: 0, f16: 1, bf16: 2, "two-level-u8": 3, "two-level-i8": 4 } as const;

/** Stands for an absent bias, residual or offset. */
const ABSENT = -1;

const words = new DataView(new ArrayBuffer(4));

/** The bits of an f32. */
function bits(value: number): number {
  words.setFloat32(0, value);
  return words.getInt32(0);
}

const at = (buffer: RowBuffer | QuantizedBuffer): [number, number] => [buffer.offset, buffer.stride];

/**
 * The ops as int32 words, for executors that do not run TypeScript. Each record is
 * `opcode, words in the record, sync, rows (0 tokens, 1 selected, 2 logits), fields …`; a buffer is `offset, stride` in bytes, an f32 its bits.
 *
 * - embed: matrix, out, width, multiplier
 * - gather: in, out, width
 * - norm: in, out, width, heads, vector, eps, residual (offset −1: none)
 * - quantize: in, out, K, paddedK, group, run, scaleAt, sumAt
 * - linear: quantised (0 or 1), in, K, group, run, scaleAt, sumAt, parts, then for each part:
 *   matrix, bias vector or −1, out, residual (offset −1: none), run
 * - rope: buffer, heads, headSize, rotary, table, pairing (0 halves, 1 neighbours)
 * - store: layer, k, v
 * - attention: layer, q, out, heads, kvHeads, headSize, scale, window, softCap
 * - gate: gate, up, out, width, kind (0 silu, 1 gelu-tanh, 2 gelu-erf)
 * - add: a, b, out, width
 * - reorder: in, out, width, order [width]
 * - scale: buffer, width, multiplier, softCap
 * - headGate: gate, in, out, heads, headSize
 */
export function encodeOps(ops: Plan["ops"]): Int32Array {
  const all: number[] = [];
  for (const op of ops) {
    const fields = fieldsOf(op);
    all.push(OPCODE[op.op], fields.length + 4, Number(op.sync), ROWS[op.rows]);
    // An order has as many numbers as a row: too many to be arguments.
    for (const field of fields) all.push(field);
  }
  return Int32Array.from(all);
}

function fieldsOf(op: PlanOp): number[] {
  const residual = (buffer: RowBuffer | undefined): [number, number] => (buffer ? at(buffer) : [ABSENT, 0]);
  switch (op.op) {
    case "embed":
      return [op.matrix, ...at(op.out), op.out.width, bits(op.multiplier)];
    case "gather":
      return [...at(op.input), ...at(op.out), op.out.width];
    case "norm":
      return [
        ...at(op.input),
        ...at(op.out),
        op.out.width,
        op.heads,
        op.weight,
        bits(op.eps),
        ...residual(op.residual),
      ];
    case "reorder":
      return [...at(op.input), ...at(op.out), op.out.width, ...op.order];
    case "quantize": {
      const { K, paddedK, group, run, scaleAt, sumAt } = op.out;
      return [...at(op.input), ...at(op.out), K, paddedK, group, run, scaleAt, sumAt];
    }
    case "linear": {
      const { input } = op;
      const shape =
        input.kind === "f32"
          ? [input.width, 0, 0, 0, 0]
          : [input.K, input.group, input.run, input.scaleAt, input.sumAt];
      const parts = op.parts.flatMap((part) => [
        part.matrix,
        part.bias ?? ABSENT,
        ...at(part.out),
        ...residual(part.residual),
        part.run,
      ]);
      return [Number(input.kind === "quantized"), ...at(input), ...shape, op.parts.length, ...parts];
    }
    case "rope":
      return [...at(op.buffer), op.heads, op.headSize, op.rotary, op.table, PAIRING[op.pairing]];
    case "store":
      return [op.layer, ...at(op.k), ...at(op.v)];
    case "attention": {
      const { layer, heads, kvHeads, headSize, scale, window, softCap } = op;
      return [layer, ...at(op.q), ...at(op.out), heads, kvHeads, headSize, bits(scale), window, bits(softCap)];
    }
    case "gate":
      return [...at(op.gate), ...at(op.up), ...at(op.out), op.out.width, GATE[op.kind]];
    case "scale":
      return [...at(op.buffer), op.buffer.width, bits(op.multiplier), bits(op.softCap)];
    case "headGate":
      return [...at(op.gate), ...at(op.input), ...at(op.out), op.gate.width, op.out.width / op.gate.width];
    case "add":
      return [...at(op.a), ...at(op.b), ...at(op.out), op.out.width];
  }
}

/** Words of one matrix record. */
export const MATRIX_WORDS = 25;

/**
 * A matrix as int32 words: `quantised (0 float, 1), address, N, K, blocks, blockBytes, float kind of values or scales,
 * bits, groupSize, groups, paddedK, zero kind (0 constant, 1 per group), zero, offset kind or −1, superSize, highAt,
 * superScaleAt, superOffsetAt, scaleAt, zeroAt, offsetAt, code book (4 words; all 0: none)`. Kinds: f32 0, f16 1, bf16 2,
 * two-level u8 3, two-level i8 4.
 */
export function encodeMatrix(layout: PackedLayout, address: number): Int32Array {
  const { N, K, blocks, blockBytes } = layout;
  if (layout.kind === "float") {
    const record = new Int32Array(MATRIX_WORDS);
    record.set([0, address, N, K, blocks, blockBytes, FLOAT_KIND[layout.type]]);
    return record;
  }
  const { zero, offset, codeBook } = layout;
  const book = codeBook ? [...new Int32Array(Int8Array.from(codeBook).buffer)] : [0, 0, 0, 0];
  return Int32Array.from([
    1,
    address,
    N,
    K,
    blocks,
    blockBytes,
    FLOAT_KIND[layout.scale],
    layout.bits,
    layout.groupSize,
    layout.groups,
    layout.paddedK,
    Number(zero === "u8"),
    zero === "u8" ? 0 : zero,
    offset ? FLOAT_KIND[offset] : ABSENT,
    layout.superSize,
    layout.highAt,
    layout.superScaleAt,
    layout.superOffsetAt,
    layout.scaleAt,
    layout.zeroAt,
    layout.offsetAt,
    ...book,
  ]);
}
