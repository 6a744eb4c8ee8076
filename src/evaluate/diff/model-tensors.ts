import type { Graph, RopePairing, Value } from "../../plan/graph.ts";

/** How the rows of a head stand, where they are turned by position: that is not the same in all formats. */
export interface HeadRows {
  readonly pairing: RopePairing;
  readonly headSize: number;
  /** Leading dims of a head that turn. */
  readonly rotary: number;
}

/** A weight by what it is for, with its name in the file. */
export interface ModelTensor {
  readonly kind: "matrix" | "vector";
  readonly name: string;
  readonly headRows: HeadRows | undefined;
}

/**
 * The weights of a model by the values that they make, which two models of an architecture call alike whatever their
 * files do; a bias is at `.bias`.
 */
export function modelTensors(graph: Graph): Map<string, ModelTensor> {
  const turned = headRowsOf(graph);
  const tensors = new Map<string, ModelTensor>();
  for (const op of graph.ops) {
    if (op.op !== "embed" && op.op !== "linear" && op.op !== "norm") continue;
    const headRows = turned.get(op.out);
    const kind = op.op === "norm" ? "vector" : "matrix";
    tensors.set(op.out.name, { kind, name: op.weight, headRows });
    if (op.op === "linear" && op.bias !== undefined)
      tensors.set(`${op.out.name}.bias`, { kind: "vector", name: op.bias, headRows });
  }
  return tensors;
}

/** For values that are turned, and those that they are norms of. */
function headRowsOf({ ops, ropeTables }: Graph): Map<Value, HeadRows> {
  const turned = new Map<Value, HeadRows>();
  for (const op of ops.toReversed()) {
    if (op.op === "rope") {
      const { pairing, headSize, table } = op;
      turned.set(op.value, { pairing, headSize, rotary: ropeTables[table]!.rotary });
    } else if (op.op === "norm" && turned.has(op.out)) turned.set(op.input, turned.get(op.out)!);
  }
  return turned;
}

/** The row of B that stands for row n of A. */
export function rowMap(a: HeadRows | undefined, b: HeadRows | undefined): (n: number) => number {
  if (!a || !b || a.pairing === b.pairing) return (n) => n;
  const { headSize, rotary } = a;
  const half = rotary / 2;
  const map =
    a.pairing === "halves"
      ? (d: number) => (d < half ? 2 * d : 2 * (d - half) + 1)
      : (d: number) => (d >> 1) + (d & 1) * half;
  return (n) => {
    const d = n % headSize;
    return d < rotary ? n - d + map(d) : n;
  };
}
