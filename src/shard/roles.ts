import { HalfbyteError } from "../errors.ts";
import type { Graph, GraphOp, Value } from "../plan/graph.ts";

/** What ranks divide among themselves. */
export type Axis = "query" | "key" | "head" | "inner" | "vocabulary";

/** How the ranks of a model share one of its matrices. */
export interface MatrixRole {
  /** Outputs are cut (column), or inputs, so that what ranks give must be added up (row), or every rank has all of it. */
  readonly parallel: "column" | "row" | "replicated";
  /** What is cut; absent where nothing is. */
  readonly axis?: Axis;
  readonly bias?: string;
  /** The matrix that reads what this one gives after the gate: both are cut between the same inner numbers. */
  readonly readBy?: string;
}

/**
 * How the matrices of a step are shared, by what becomes of their outputs: those that attention or a gate reads are cut
 * by outputs, those that read attention's or a gate's results by inputs, embedding and output matrix by vocabulary.
 *
 * Throws ERR_UNSUPPORTED for a graph with an op over numbers that stand in different ranks.
 */
export function matrixRoles(graph: Graph): ReadonlyMap<string, MatrixRole> {
  const axes = valueAxes(graph);
  const roles = new Map<string, MatrixRole>();
  for (const op of graph.ops) {
    if (op.op === "embed") roles.set(op.weight, { parallel: "column", axis: "vocabulary" });
    if (op.op !== "linear") continue;
    const { weight, bias } = op;
    const [out, input] = [axes.get(op.out), axes.get(op.input)];
    if (out && input)
      throw new HalfbyteError("ERR_UNSUPPORTED", "a matrix between two parts of ranks", { place: weight });
    const readBy = out === "inner" ? readerOf(graph, op.out) : undefined;
    roles.set(weight, {
      parallel: out ? "column" : input ? "row" : "replicated",
      ...((out ?? input) && { axis: (out ?? input)! }),
      ...(bias !== undefined && { bias }),
      ...(readBy !== undefined && { readBy }),
    });
  }
  return roles;
}

/** What each value that stands in parts in different ranks is cut by. */
function valueAxes(graph: Graph): ReadonlyMap<Value, Axis> {
  const axes = new Map<Value, Axis>();
  if (graph.output) axes.set(graph.output, "vocabulary");
  for (const op of graph.ops) {
    if (op.op === "attention") axes.set(op.out, "query").set(op.q, "query").set(op.k, "key").set(op.v, "key");
    if (op.op === "headGate") axes.set(op.gate, "head").set(op.input, "query").set(op.out, "query");
    if (op.op === "gate") axes.set(op.out, "inner").set(op.gate, "inner").set(op.up, "inner");
  }
  const headSize = graph.ops.find((op) => op.op === "attention")?.shape.headSize;
  const pass = (op: Extract<GraphOp, { op: "norm" | "gather" }>): void => {
    const axis = axes.get(op.out) ?? axes.get(op.input);
    if (axis) axes.set(op.input, axis).set(op.out, axis);
    if (axis && op.op === "norm" && op.input.width / op.heads !== headSize)
      throw new HalfbyteError("ERR_UNSUPPORTED", "a norm over numbers that stand in different ranks", {
        place: op.weight,
      });
  };
  for (const op of [...graph.ops].reverse()) if (op.op === "norm" || op.op === "gather") pass(op);
  for (const op of graph.ops) if (op.op === "norm" || op.op === "gather") pass(op);
  return axes;
}

/** The matrix behind the gate that reads a value. */
function readerOf(graph: Graph, value: Value): string | undefined {
  const gate = graph.ops.find((op) => op.op === "gate" && (op.gate === value || op.up === value));
  let result = gate?.op === "gate" ? gate.out : undefined;
  for (const op of graph.ops) {
    if (op.op === "gather" && op.input === result) result = op.out;
    if (op.op === "linear" && op.input === result) return op.weight;
  }
  return undefined;
}
