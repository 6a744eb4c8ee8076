import type { RowSpace } from "./graph.ts";
import type { PlanOp, QuantizedBuffer, RowBuffer } from "./plan.ts";

/**
 * Who touches an op's bytes: a thread's own rows (every row op splits its rows between threads in the same way), or any
 * thread (linear splits outputs, attention splits heads).
 */
type Partition = RowSpace | "any";

interface Access {
  readonly from: number;
  readonly to: number;
  /** Bytes from one row to the next. */
  readonly stride: number;
  readonly write: boolean;
  readonly partition: Partition;
}

/** The key-value cache as a range of bytes outside the arena. */
const CACHE = { from: -2, to: -1, stride: 0 };

/** Sets `sync` on the ops before which threads must wait: as few as the bytes they share allow. */
export function markSync(ops: readonly PlanOp[], maxRows: number, maxLogitRows: number): PlanOp[] {
  let pending: Access[] = [];
  return ops.map((op) => {
    const own = accesses(op, maxRows, maxLogitRows);
    const sync = own.some((a) => pending.some((b) => conflict(a, b)));
    if (sync) pending = [];
    pending.push(...own);
    return { ...op, sync };
  });
}

function conflict(a: Access, b: Access): boolean {
  // Buffers that share bytes one after the other share no rows unless they begin and step alike.
  const sameRows = a.from === b.from && a.stride === b.stride;
  const ownRows = a.partition === b.partition && a.partition !== "any" && sameRows;
  return (a.write || b.write) && a.from < b.to && b.from < a.to && !ownRows;
}

function accesses(op: PlanOp, maxRows: number, maxLogitRows: number): Access[] {
  const list: Access[] = [];
  const add = (buffer: RowBuffer | QuantizedBuffer, write: boolean, partition: Partition, rows: RowSpace): void => {
    const bytes = buffer.stride * (rows === "logits" ? maxLogitRows : maxRows);
    list.push({ from: buffer.offset, to: buffer.offset + bytes, stride: buffer.stride, write, partition });
  };
  const { rows } = op;
  const read = (buffer: RowBuffer): void => add(buffer, false, rows, rows);
  const write = (buffer: RowBuffer | QuantizedBuffer): void => add(buffer, true, rows, rows);
  switch (op.op) {
    case "embed":
      write(op.out);
      break;
    case "gather":
      add(op.input, false, "any", "tokens");
      write(op.out);
      break;
    case "norm":
      read(op.input);
      if (op.residual) read(op.residual);
      write(op.out);
      break;
    case "reorder":
    case "quantize":
      read(op.input);
      write(op.out);
      break;
    case "linear":
      add(op.input, false, "any", rows);
      for (const part of op.parts) {
        if (part.residual) add(part.residual, false, "any", rows);
        add(part.out, true, "any", rows);
      }
      break;
    case "rope":
    case "scale":
      write(op.buffer);
      break;
    case "store":
      read(op.k);
      read(op.v);
      list.push({ ...CACHE, write: true, partition: rows });
      break;
    case "attention":
      add(op.q, false, "any", rows);
      add(op.out, true, "any", rows);
      list.push({ ...CACHE, write: false, partition: "any" });
      break;
    case "gate":
      read(op.gate);
      read(op.up);
      write(op.out);
      break;
    case "headGate":
      read(op.gate);
      read(op.input);
      write(op.out);
      break;
    case "add":
      read(op.a);
      read(op.b);
      write(op.out);
      break;
  }
  return list;
}
