import { HalfbyteError } from "../errors.ts";
import type { PackedLayout, QuantizedLayout } from "../weights/packed-layout.ts";
import type { Graph, GraphOp, Value } from "./graph.ts";
import type { ActivationMode } from "./plan.ts";

/** A quantised copy of a value, before memory is assigned. */
export interface QuantizedValue {
  readonly of: Value;
  readonly group: number;
  /** The smallest run among its consumers. */
  run: number;
}

export interface LoweredPart {
  readonly weight: string;
  readonly bias: string | undefined;
  readonly out: Value;
  readonly residual: Value | undefined;
  readonly run: number;
}

type Rest<T extends GraphOp["op"]> = Extract<GraphOp, { op: T }>;

/** The graph's ops with orders of inputs and quantisation put in, linears of one input joined, and residual additions fused. */
export type LoweredOp =
  | Exclude<GraphOp, { op: "linear" | "norm" | "attention" }>
  | (Rest<"norm"> & { readonly residual: Value | undefined })
  | { readonly op: "reorder"; readonly input: Value; readonly out: Value; readonly order: Int32Array }
  | { readonly op: "quantize"; readonly input: Value; readonly out: QuantizedValue }
  | { readonly op: "linear"; readonly input: Value | QuantizedValue; readonly parts: LoweredPart[] }
  | { readonly op: "store"; readonly layer: number; readonly k: Value; readonly v: Value }
  | Omit<Rest<"attention">, "k" | "v">;

export interface Lowered {
  readonly ops: LoweredOp[];
  /** Values that stand in another's memory: the sum of a residual addition in its residual's. */
  readonly sameMemory: Map<Value, Value>;
}

/**
 * Fuses and lowers a graph; values in `kept` stay what they are to the end. Throws ERR_MISSING for a weight that `layouts` lacks and ERR_SHAPE where a weight does not
 * fit its input and output.
 */
export function lower(
  graph: Graph,
  layouts: ReadonlyMap<string, PackedLayout>,
  mode: ActivationMode,
  kept: ReadonlySet<Value>,
): Lowered {
  const { fused, sums } = findResidualSums(graph, kept);
  const ops: LoweredOp[] = [];
  const sameMemory = new Map<Value, Value>();
  const quantized = new Map<string, QuantizedValue>();
  const reordered: Reordered[] = [];
  const lastUse = lastUses(graph, kept);

  const fuse = (out: Value): { out: Value; residual: Value | undefined } => {
    const sum = sums.get(out);
    if (!sum) return { out, residual: undefined };
    if (lastUse.get(sum.residual) === sum.at) sameMemory.set(sum.out, sameMemory.get(sum.residual) ?? sum.residual);
    return { out: sum.out, residual: sum.residual };
  };

  for (const op of graph.ops) {
    if (fused.has(op)) continue;
    if (op.op === "norm") ops.push({ ...op, ...fuse(op.out) });
    else if (op.op === "attention") {
      const { k, v, ...rest } = op;
      ops.push({ op: "store", layer: op.layer, k, v }, rest);
    } else if (op.op === "linear") {
      const layout = linearLayout(op, layouts);
      const { input, run } = linearInput(orderedInput(op.input, layout, reordered, ops), layout, mode, quantized, ops);
      const part: LoweredPart = { weight: op.weight, bias: op.bias, run, ...fuse(op.out) };
      const previous = ops.at(-1);
      const joins = previous?.op === "linear" && previous.input === input && part.out !== graph.output;
      if (joins && !dependsOn(part, previous.parts)) previous.parts.push(part);
      else ops.push({ op: "linear", input, parts: [part] });
    } else ops.push(op);
  }
  return { ops, sameMemory };
}

function dependsOn(part: LoweredPart, earlier: readonly LoweredPart[]): boolean {
  return earlier.some((other) => other.out === part.residual);
}

function linearLayout(op: Rest<"linear">, layouts: ReadonlyMap<string, PackedLayout>): PackedLayout {
  const layout = layouts.get(op.weight);
  if (!layout) throw new HalfbyteError("ERR_MISSING", "the model needs this weight", { place: op.weight });
  if (layout.K !== op.input.width || layout.N !== op.out.width)
    throw new HalfbyteError("ERR_SHAPE", "weight does not fit the model's sizes", {
      place: op.weight,
      expected: `[${op.out.width}, ${op.input.width}]`,
      got: `[${layout.N}, ${layout.K}]`,
      remedy: "the file and its config disagree",
    });
  return layout;
}

/** A value with its numbers in another order. */
interface Reordered {
  readonly input: Value;
  readonly order: Int32Array;
  readonly out: Value;
}

/** The input in the order of the matrix's columns, made once for each order: before it is quantised, as its groups are theirs. */
function orderedInput(input: Value, layout: PackedLayout, known: Reordered[], ops: LoweredOp[]): Value {
  const order = layout.kind === "quantized" ? layout.inputOrder : undefined;
  if (!order) return input;
  const same = known.find((each) => each.input === input && each.order.every((from, j) => from === order[j]));
  if (same) return same.out;
  // Values of the graph count from 0 on.
  const out: Value = { ...input, id: -1 - known.length, name: `reordered(${input.name})` };
  known.push({ input, order, out });
  ops.push({ op: "reorder", input, out, order });
  return out;
}

/** The input in the form a matrix takes it, quantised once for each activation group size. */
function linearInput(
  value: Value,
  layout: PackedLayout,
  mode: ActivationMode,
  known: Map<string, QuantizedValue>,
  ops: LoweredOp[],
): { input: Value | QuantizedValue; run: number } {
  if (layout.kind === "float") return { input: value, run: 0 };
  const group = mode === "a8-per-token" ? layout.K : Math.min(layout.activationGroup, layout.K);
  const run = Math.min(layout.groupSize, group);
  checkIntegerRange(layout, run, mode);
  const key = `${value.id}/${group}`;
  let quantizedValue = known.get(key);
  if (quantizedValue) quantizedValue.run = Math.min(quantizedValue.run, run);
  else {
    quantizedValue = { of: value, group, run };
    known.set(key, quantizedValue);
    ops.push({ op: "quantize", input: value, out: quantizedValue });
  }
  return { input: quantizedValue, run };
}

/** Integer sums must be exact: the largest sum of a run has to fit 31 bits. */
function checkIntegerRange(layout: QuantizedLayout, run: number, mode: ActivationMode): void {
  const largestWeight = layout.codeBook ? 128 : 2 ** layout.bits - 1;
  if (run * largestWeight * (mode === "a16" ? 32767 : 127) >= 2 ** 31)
    throw new HalfbyteError("ERR_UNSUPPORTED", `a group of ${run} inputs is too long for exact sums in ${mode}`);
}

interface ResidualSum {
  readonly residual: Value;
  readonly out: Value;
  readonly at: number;
}

/** Additions of a linear's or norm's only-once-used result: done where that result is made. */
function findResidualSums(
  graph: Graph,
  kept: ReadonlySet<Value>,
): { fused: Set<GraphOp>; sums: Map<Value, ResidualSum> } {
  const uses = new Map<Value, number>();
  for (const op of graph.ops) for (const value of inputs(op)) uses.set(value, (uses.get(value) ?? 0) + 1);
  const madeAt = new Map<Value, number>();
  const fused = new Set<GraphOp>();
  const sums = new Map<Value, ResidualSum>();
  graph.ops.forEach((op, at) => {
    if (op.op !== "add") {
      if ("out" in op) madeAt.set(op.out, at);
      return;
    }
    madeAt.set(op.out, at);
    for (const [value, residual] of [
      [op.b, op.a],
      [op.a, op.b],
    ] as const) {
      const made = madeAt.get(value) ?? -1;
      const maker = graph.ops[made];
      const once = uses.get(value) === 1 && !kept.has(value);
      const fusible = (maker?.op === "linear" || maker?.op === "norm") && once;
      const readBetween = graph.ops.slice(made + 1, at).some((other) => inputs(other).includes(residual));
      if (!fusible || readBetween || (madeAt.get(residual) ?? -1) > made) continue;
      fused.add(op);
      sums.set(value, { residual, out: op.out, at });
      madeAt.set(op.out, made);
      return;
    }
  });
  return { fused, sums };
}

function lastUses(graph: Graph, kept: ReadonlySet<Value>): Map<Value, number> {
  const last = new Map<Value, number>();
  graph.ops.forEach((op, at) => {
    for (const value of inputs(op)) last.set(value, at);
  });
  for (const value of kept) last.set(value, graph.ops.length);
  return last;
}

function inputs(op: GraphOp): Value[] {
  switch (op.op) {
    case "embed":
      return [];
    case "rope":
    case "scale":
      return [op.value];
    case "attention":
      return [op.q, op.k, op.v];
    case "gate":
      return [op.gate, op.up];
    case "headGate":
      return [op.gate, op.input];
    case "add":
      return [op.a, op.b];
    default:
      return [op.input];
  }
}
