import type { RopeSpec } from "./rope-table.ts";

/** A buffer of one f32 row per token (or per selected row), before memory is assigned. */
export interface Value {
  readonly id: number;
  /** Its own in the graph: what `keep` and `read` go by. */
  readonly name: string;
  readonly width: number;
  readonly rows: RowSpace;
}

/** Rows of a step: all its tokens, those selected by `logitRows`, or those whose logits are computed (all selected, or none). */
export type RowSpace = "tokens" | "selected" | "logits";

export type GateKind = "silu" | "gelu-tanh" | "gelu-erf";

export interface AttentionShape {
  readonly heads: number;
  readonly kvHeads: number;
  readonly headSize: number;
  readonly scale: number;
  /** Sliding window: position i sees j with i − window < j ≤ i. Absent: all before it. */
  readonly window?: number;
  /** Scores become cap · tanh(score / cap). */
  readonly softCap?: number;
}

export type GraphOp =
  | { readonly op: "embed"; readonly out: Value; readonly weight: string; readonly multiplier: number }
  | { readonly op: "gather"; readonly input: Value; readonly out: Value }
  | {
      readonly op: "norm";
      readonly input: Value;
      readonly out: Value;
      readonly weight: string;
      readonly heads: number;
      readonly eps: number;
    }
  | {
      readonly op: "linear";
      readonly input: Value;
      readonly out: Value;
      readonly weight: string;
      readonly bias?: string;
    }
  | {
      readonly op: "rope";
      readonly value: Value;
      readonly heads: number;
      readonly headSize: number;
      readonly table: number;
      readonly pairing: RopePairing;
    }
  | {
      readonly op: "attention";
      readonly layer: number;
      readonly q: Value;
      readonly k: Value;
      readonly v: Value;
      readonly out: Value;
      readonly shape: AttentionShape;
    }
  | { readonly op: "gate"; readonly gate: Value; readonly up: Value; readonly out: Value; readonly kind: GateKind }
  | {
      /** In place: x · multiplier, then cap · tanh(x / cap) where there is a cap. */
      readonly op: "scale";
      readonly value: Value;
      readonly multiplier: number;
      readonly softCap?: number;
    }
  | { readonly op: "headGate"; readonly gate: Value; readonly input: Value; readonly out: Value }
  | { readonly op: "add"; readonly a: Value; readonly b: Value; readonly out: Value };

/** Which dims turn together: i with i + rotary/2 (Hugging Face), or 2i with 2i + 1 (llama in GGUF). */
export type RopePairing = "halves" | "neighbours";

/**
 * One step of a model as a list of ops on named values: what an architecture writes and `compile` turns into a plan.
 * Weights go by name; shapes are checked against them when the plan is compiled.
 */
export class Graph {
  readonly ops: GraphOp[] = [];
  readonly ropeTables: RopeSpec[] = [];
  /** The value whose rows are the step's result. */
  output: Value | undefined;
  /** Stands before the names of the values made from now on, for example "layers.3.". */
  prefix = "";
  #values = 0;
  readonly #names = new Set<string>();

  /** A name that is taken gets a number. */
  #value(name: string, width: number, rows: RowSpace): Value {
    const full = this.prefix + name;
    let unique = full;
    for (let i = 2; this.#names.has(unique); i++) unique = `${full}#${i}`;
    this.#names.add(unique);
    return { id: this.#values++, name: unique, width, rows };
  }

  /** Embedding rows of the step's token ids, each times `multiplier`. */
  embed(weight: string, width: number, multiplier = 1, name = "embedding"): Value {
    const out = this.#value(name, width, "tokens");
    this.ops.push({ op: "embed", out, weight, multiplier });
    return out;
  }

  /** The rows that want logits. */
  gather(input: Value, name = "selected"): Value {
    const out = this.#value(name, input.width, "selected");
    this.ops.push({ op: "gather", input, out });
    return out;
  }

  /** RMS norm of the row, or of each of `heads` equal parts of it, times the weight vector. */
  norm(input: Value, weight: string, eps: number, heads = 1, name = "normed"): Value {
    const out = this.#value(name, input.width, input.rows);
    this.ops.push({ op: "norm", input, out, weight, heads, eps });
    return out;
  }

  linear(input: Value, weight: string, width: number, name: string, bias?: string): Value {
    const out = this.#value(name, width, input.rows);
    this.ops.push({ op: "linear", input, out, weight, ...(bias !== undefined && { bias }) });
    return out;
  }

  /** Turns the heads of a value in place. */
  rope(value: Value, heads: number, table: number, pairing: RopePairing): void {
    this.ops.push({ op: "rope", value, heads, headSize: value.width / heads, table, pairing });
  }

  /** The number of a rotary table; equal specs share one. */
  ropeTable(spec: RopeSpec): number {
    const key = JSON.stringify(spec);
    const known = this.ropeTables.findIndex((table) => JSON.stringify(table) === key);
    return known >= 0 ? known : this.ropeTables.push(spec) - 1;
  }

  /** Stores keys and values in the cache of a layer, then attends to all that its sequence has there. */
  attention(layer: number, q: Value, k: Value, v: Value, shape: AttentionShape): Value {
    const out = this.#value("attended", shape.heads * shape.headSize, q.rows);
    this.ops.push({ op: "attention", layer, q, k, v, out, shape });
    return out;
  }

  /** kind(gate) · up, element by element. */
  gate(gate: Value, up: Value, kind: GateKind): Value {
    const out = this.#value("gated", gate.width, gate.rows);
    this.ops.push({ op: "gate", gate, up, out, kind });
    return out;
  }

  /** Multiplies a value in place, then holds it within ± `softCap` where there is one. */
  scale(value: Value, multiplier: number, softCap?: number): void {
    this.ops.push({ op: "scale", value, multiplier, ...(softCap !== undefined && { softCap }) });
  }

  /** Each of the heads of `input` times the sigmoid of its one number in `gate`. */
  headGate(gate: Value, input: Value): Value {
    const out = this.#value("head_gated", input.width, input.rows);
    this.ops.push({ op: "headGate", gate, input, out });
    return out;
  }

  add(a: Value, b: Value, name = "sum"): Value {
    const out = this.#value(name, a.width, a.rows);
    this.ops.push({ op: "add", a, b, out });
    return out;
  }
}
