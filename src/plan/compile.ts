import { HalfbyteError } from "../errors.ts";
import type { PackedLayout } from "../weights/packed-layout.ts";
import { cacheLayout } from "./cache-layout.ts";
import type { Graph, RowSpace, Value } from "./graph.ts";
import { type LoweredOp, lower, type QuantizedValue } from "./lower.ts";
import { assignMemory, quantizedShape, type Storage, strideOf } from "./memory.ts";
import {
  type ActivationMode,
  type CacheType,
  FINAL_HIDDEN,
  type LinearPart,
  type Plan,
  type PlanMatrix,
  type PlanOp,
  type QuantizedBuffer,
  type RowBuffer,
} from "./plan.ts";
import { markSync } from "./sync.ts";

export interface CompileOptions {
  /** Default "a8". */
  readonly activations?: ActivationMode;
  /** Tokens one step can take: a longer prompt goes in several steps. Default 128. */
  readonly maxRows?: number;
  /** Rows of logits one step can give. Default 1. A step without logits can select all its rows. */
  readonly maxLogitRows?: number;
  /** Default "f16". */
  readonly cacheType?: CacheType;
  /** Names of the graph's values to keep readable after a step. They cost memory, and the fusion that would swallow them. */
  readonly keep?: readonly string[];
}

/**
 * Compiles a model's graph: fusion, memory by liveness, and the places where threads must wait for each other.
 *
 * @throws ERR_MISSING, ERR_SHAPE where weights and graph disagree; ERR_ARGUMENT for a name in `keep` that no value has.
 */
export function compile(
  graph: Graph,
  layouts: ReadonlyMap<string, PackedLayout>,
  vectorLengths: ReadonlyMap<string, number>,
  options: CompileOptions = {},
): Plan {
  const { activations = "a8", maxRows = 128, maxLogitRows = 1, cacheType = "f16", keep = [] } = options;
  const output = graph.output;
  if (!output || output.rows === "tokens")
    throw new HalfbyteError("ERR_ARGUMENT", "the graph has no output of selected rows");
  const keptValues = findKept(graph, output, keep);
  const lasting = new Set([...keptValues.values(), output]);
  const lowered = lower(graph, layouts, activations, lasting);
  const spaceOf = (value: Value): RowSpace => (value === output ? "logits" : value.rows);
  const rowCount = (storage: Storage): number => (storage === output ? maxLogitRows : maxRows);
  const memory = assignMemory(lowered, lasting, rowCount);

  const matrices: PlanMatrix[] = [];
  const matrixNumber = numbering((name: string) => {
    const layout = layouts.get(name);
    if (!layout) throw new HalfbyteError("ERR_MISSING", "the model needs this weight", { place: name });
    matrices.push({ name, layout });
  });
  const vectors: { name: string; length: number }[] = [];
  const vectorNumber = numbering((name: string) => {
    const length = vectorLengths.get(name);
    if (length === undefined) throw new HalfbyteError("ERR_MISSING", "the model needs this vector", { place: name });
    vectors.push({ name, length });
  });
  const vector = (name: string, length: number): number => {
    const number = vectorNumber(name);
    if (vectors[number]!.length !== length)
      throw new HalfbyteError("ERR_SHAPE", "vector does not fit the model's sizes", {
        place: name,
        expected: `${length}`,
        got: `${vectors[number]!.length}`,
      });
    return number;
  };

  const row = (value: Value): RowBuffer => ({
    kind: "f32",
    name: value.name,
    offset: memory.offsetOf(value),
    stride: strideOf(value),
    width: value.width,
  });
  const quantizedRow = (value: QuantizedValue): QuantizedBuffer => ({
    kind: "quantized",
    name: `quantized(${value.of.name})`,
    offset: memory.offsetOf(value),
    ...quantizedShape(value),
  });
  const build = (op: LoweredOp): PlanOp => {
    const rows = spaceOf(writtenBy(op));
    const sync = false;
    switch (op.op) {
      case "embed":
        return {
          op: "embed",
          rows,
          sync,
          matrix: embedding(op, layouts, matrixNumber),
          out: row(op.out),
          multiplier: op.multiplier,
        };
      case "gather":
        return { op: "gather", rows, sync, input: row(op.input), out: row(op.out) };
      case "norm": {
        const { heads, eps, residual } = op;
        const weight = vector(op.weight, op.input.width / heads);
        return {
          op: "norm",
          rows,
          sync,
          input: row(op.input),
          out: row(op.out),
          weight,
          heads,
          eps,
          residual: residual && row(residual),
        };
      }
      case "reorder":
        return { op: "reorder", rows, sync, input: row(op.input), out: row(op.out), order: op.order };
      case "quantize":
        return { op: "quantize", rows, sync, input: row(op.input), out: quantizedRow(op.out) };
      case "linear": {
        const input = "of" in op.input ? quantizedRow(op.input) : row(op.input);
        const parts = op.parts.map(
          (part): LinearPart => ({
            matrix: matrixNumber(part.weight),
            bias: part.bias === undefined ? undefined : vector(part.bias, part.out.width),
            out: row(part.out),
            residual: part.residual && row(part.residual),
            run: part.run,
          }),
        );
        return { op: "linear", rows, sync, input, parts };
      }
      case "rope": {
        const { heads, headSize, table, pairing } = op;
        const { rotary } = graph.ropeTables[table]!;
        return { op: "rope", rows, sync, buffer: row(op.value), heads, headSize, rotary, table, pairing };
      }
      case "store":
        return { op: "store", rows, sync, layer: op.layer, k: row(op.k), v: row(op.v) };
      case "attention": {
        const { window = 0, softCap = 0, ...shape } = op.shape;
        return {
          op: "attention",
          rows,
          sync,
          layer: op.layer,
          q: row(op.q),
          out: row(op.out),
          window,
          softCap,
          ...shape,
        };
      }
      case "gate":
        return { op: "gate", rows, sync, gate: row(op.gate), up: row(op.up), out: row(op.out), kind: op.kind };
      case "scale":
        return { op: "scale", rows, sync, buffer: row(op.value), multiplier: op.multiplier, softCap: op.softCap ?? 0 };
      case "headGate":
        return { op: "headGate", rows, sync, gate: row(op.gate), input: row(op.input), out: row(op.out) };
      case "add":
        return { op: "add", rows, sync, a: row(op.a), b: row(op.b), out: row(op.out) };
    }
  };

  const ops = markSync(lowered.ops.map(build), maxRows, maxLogitRows);
  return {
    activations,
    ops,
    matrices,
    vectors,
    ropeTables: graph.ropeTables,
    cache: graphCache(graph, cacheType),
    arenaBytes: memory.bytes,
    maxRows,
    maxLogitRows,
    logits: row(output),
    kept: [...keptValues].map(([name, value]) => ({ name, rows: spaceOf(value), buffer: row(value) })),
    vocabularySize: output.width,
  };
}

/** The values to keep, by name: those asked for, and what the output is made of where a matrix makes it. */
function findKept(graph: Graph, output: Value, keep: readonly string[]): Map<string, Value> {
  const kept = new Map<string, Value>();
  const values = new Map(graph.ops.flatMap((op) => ("out" in op ? [[op.out.name, op.out] as const] : [])));
  for (const name of keep) {
    const value = values.get(name);
    if (!value) throw new HalfbyteError("ERR_ARGUMENT", "no value of the graph has this name", { place: name });
    kept.set(name, value);
  }
  for (const op of graph.ops) if (op.op === "linear" && op.out === output) kept.set(FINAL_HIDDEN, op.input);
  return kept;
}

function embedding(
  op: Extract<LoweredOp, { op: "embed" }>,
  layouts: ReadonlyMap<string, PackedLayout>,
  matrixNumber: (name: string) => number,
): number {
  const number = matrixNumber(op.weight);
  const layout = layouts.get(op.weight)!;
  const { K } = layout;
  if ("inputOrder" in layout)
    throw new HalfbyteError("ERR_UNSUPPORTED", "an embedding with its numbers out of order", { place: op.weight });
  if (K !== op.out.width)
    throw new HalfbyteError("ERR_SHAPE", "embedding does not fit the model's width", {
      place: op.weight,
      expected: `${op.out.width}`,
      got: `${K}`,
    });
  return number;
}

function graphCache(graph: Graph, type: CacheType): Plan["cache"] {
  const attention = graph.ops.filter((op) => op.op === "attention");
  const { kvHeads = 1, headSize = 16 } = attention[0]?.shape ?? {};
  if (attention.some(({ shape }) => shape.kvHeads !== kvHeads || shape.headSize !== headSize))
    throw new HalfbyteError("ERR_UNSUPPORTED", "layers with different key-value heads");
  return cacheLayout(1 + Math.max(-1, ...attention.map((op) => op.layer)), kvHeads, headSize, type);
}

function numbering(onNew: (name: string) => void): (name: string) => number {
  const numbers = new Map<string, number>();
  return (name) => {
    const known = numbers.get(name);
    if (known !== undefined) return known;
    onNew(name);
    numbers.set(name, numbers.size);
    return numbers.size - 1;
  };
}

/** The value whose rows an op works on: what it writes, or what that is a form of. */
function writtenBy(op: LoweredOp): Value {
  if (op.op === "linear") return op.parts[0]!.out;
  if (op.op === "rope" || op.op === "scale") return op.value;
  if (op.op === "store") return op.k;
  if (op.op === "quantize") return op.input;
  return op.out;
}
