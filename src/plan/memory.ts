import { assignArena, type Lifetime } from "./arena.ts";
import type { Value } from "./graph.ts";
import type { Lowered, LoweredOp, QuantizedValue } from "./lower.ts";
import type { QuantizedBuffer } from "./plan.ts";

/** What takes memory of the arena. */
export type Storage = Value | QuantizedValue;

export interface Memory {
  readonly bytes: number;
  offsetOf(storage: Storage): number;
}

/** Memory for everything the ops touch, for as long as they do; to the end for what is in `lasting`. */
export function assignMemory(
  { ops, sameMemory }: Lowered,
  lasting: ReadonlySet<Value>,
  rowCount: (s: Storage) => number,
): Memory {
  const lifetimes = new Map<Storage, Lifetime>();
  const home = (storage: Storage): Storage => ("of" in storage ? storage : (sameMemory.get(storage) ?? storage));
  const touch = (storage: Storage, at: number): void => {
    const owner = home(storage);
    const known = lifetimes.get(owner);
    if (known) known.last = Math.max(known.last, at);
    else lifetimes.set(owner, { bytes: rowCount(owner) * strideOf(owner), first: at, last: at });
  };
  ops.forEach((op, at) => {
    for (const storage of touched(op)) touch(storage, at);
  });
  for (const value of lasting) touch(value, ops.length);
  const { offsets, bytes } = assignArena([...lifetimes.values()]);
  return { bytes, offsetOf: (storage) => offsets.get(lifetimes.get(home(storage))!)! };
}

function touched(op: LoweredOp): Storage[] {
  switch (op.op) {
    case "embed":
      return [op.out];
    case "norm":
      return [op.input, op.out, ...(op.residual ? [op.residual] : [])];
    case "linear":
      return [op.input, ...op.parts.flatMap((part) => [part.out, ...(part.residual ? [part.residual] : [])])];
    case "rope":
    case "scale":
      return [op.value];
    case "headGate":
      return [op.gate, op.input, op.out];
    case "store":
      return [op.k, op.v];
    case "attention":
      return [op.q, op.out];
    case "gate":
      return [op.gate, op.up, op.out];
    case "add":
      return [op.a, op.b, op.out];
    default:
      return [op.input, op.out];
  }
}

const roundUp = (bytes: number): number => Math.ceil(bytes / 64) * 64;

/** Bytes from one row to the next. */
export function strideOf(storage: Storage): number {
  return "of" in storage ? quantizedShape(storage).stride : roundUp(storage.width * 4);
}

export function quantizedShape({ of, group, run }: QuantizedValue): Omit<QuantizedBuffer, "kind" | "name" | "offset"> {
  const K = of.width;
  const paddedK = Math.ceil(K / 32) * 32;
  const scaleAt = roundUp(paddedK * 2);
  const sumAt = scaleAt + roundUp(Math.ceil(K / group) * 4);
  return { stride: sumAt + roundUp(Math.ceil(K / run) * 4), K, paddedK, group, run, scaleAt, sumAt };
}
