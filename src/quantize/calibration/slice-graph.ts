import { Graph, type GraphOp, type Value } from "../../plan/graph.ts";

/** A linear layer's input, and all matrices that take it. */
export interface Stage {
  readonly input: Value;
  readonly weights: readonly string[];
}

/** Values that all that follows is made from, where the graph is cut. */
export type Cut = readonly Value[];

export interface CutGraph {
  /** Between the first cut and the second stand the stages of one half layer, and so on. */
  readonly parts: readonly { readonly from: Cut; readonly stages: readonly Stage[]; readonly to: Cut }[];
}

/**
 * Cuts a model's graph after its embedding, each attention and each residual sum, where few values live: so much of a model
 * is run at a time when its matrices are quantised one after the other. What follows the last sum is no part.
 */
export function cutGraph(graph: Graph): CutGraph {
  const parts: CutGraph["parts"][number][] = [];
  const lastUse = lastUses(graph);
  let from: Cut | undefined;
  let stages: { input: Value; weights: string[] }[] = [];
  graph.ops.forEach((op, at) => {
    if (op.op === "linear") {
      const stage = stages.find(({ input }) => input === op.input);
      if (stage) stage.weights.push(op.weight);
      else stages.push({ input: op.input, weights: [op.weight] });
    }
    const inPlace = !("out" in op) && stages.length === 0 && from?.includes(op.value);
    if (!inPlace && op.op !== "embed" && op.op !== "attention" && op.op !== "add") return;
    const live = liveAfter(graph, lastUse, at);
    if (from && !inPlace) parts.push({ from, stages, to: live });
    from = live;
    stages = [];
  });
  return { parts };
}

function liveAfter(graph: Graph, lastUse: ReadonlyMap<Value, number>, at: number): Value[] {
  const made = graph.ops.slice(0, at + 1).flatMap((op) => ("out" in op ? [op.out] : []));
  return made.filter((value) => lastUse.get(value)! > at);
}

function lastUses(graph: Graph): Map<Value, number> {
  const last = new Map<Value, number>();
  graph.ops.forEach((op, at) => {
    for (const value of inputsOf(op)) last.set(value, at);
  });
  if (graph.output) last.set(graph.output, graph.ops.length);
  return last;
}

/**
 * The part of a graph that makes `target` from the values in `given`, which it looks up, by the number of a token, in the
 * rows of the matrices that they are named after (`rowsName`). Its result is the target's rows, of all tokens; it has one
 * layer of cache.
 */
export function sliceGraph(graph: Graph, given: ReadonlySet<Value>, target: Value): Graph {
  const needed = new Set([target]);
  const ops: GraphOp[] = [];
  for (const op of graph.ops.toReversed()) {
    const made = madeBy(op);
    if (!needed.has(made) || given.has(made)) continue;
    ops.push(op);
    for (const value of inputsOf(op)) needed.add(value);
  }
  const slice = new Graph();
  slice.ropeTables.push(...graph.ropeTables);
  // Nothing is selected on the way.
  const copies = new Map<Value, Value>();
  const copy = (value: Value): Value => {
    const known = copies.get(value) ?? { ...value, rows: "tokens" };
    copies.set(value, known);
    return known;
  };
  for (const value of given)
    if (needed.has(value)) slice.ops.push({ op: "embed", out: copy(value), weight: rowsName(value), multiplier: 1 });
  for (const op of ops.reverse()) {
    if (op.op === "gather") copies.set(op.out, copy(op.input));
    else slice.ops.push(withValues(op, copy));
  }
  slice.output = slice.gather(copy(target), "result");
  return slice;
}

function withValues(op: GraphOp, copy: (value: Value) => Value): GraphOp {
  const layer = op.op === "attention" ? { layer: 0 } : {};
  const values = Object.entries(op).map(([key, each]) => [key, isValue(each) ? copy(each) : each]);
  return { ...(Object.fromEntries(values) as GraphOp), ...layer };
}

function isValue(each: unknown): each is Value {
  return typeof each === "object" && each !== null && "rows" in each && "width" in each;
}

/** The name that a value's rows go by as a matrix. */
export function rowsName(value: Value): string {
  return `rows of ${value.name}`;
}

/** What an op reads; one that works in place reads what it makes. */
function inputsOf(op: GraphOp): Value[] {
  return Object.entries(op).flatMap(([key, each]) => (key !== "out" && isValue(each) ? [each] : []));
}

/** What an op writes. */
function madeBy(op: GraphOp): Value {
  return "out" in op ? op.out : op.value;
}
