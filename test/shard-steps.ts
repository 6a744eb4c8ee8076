import type { Graph, GraphOp, Value } from "../src/plan/graph.ts";
import { RopeTable } from "../src/plan/rope-table.ts";
import type { ModelShard } from "../src/shard/model-shard.ts";
import { weightsOf } from "./shardable-llama.ts";

/** What a rank holds of a value: a row for each token. */
type Rows = Float64Array[];

/**
 * Logits of a prompt, [tokens][vocabulary], from the ranks of a model that walk their steps together and add up what
 * docs/shards.md says they must. Plain f64 arithmetic of its own: nothing of an executor is in it.
 */
export async function logitsOfRanks(shards: readonly ModelShard[], ids: ArrayLike<number>): Promise<Rows> {
  const ranks = shards.map((shard) => new Rank(shard, ids));
  const [first] = shards as [ModelShard];
  for (let i = 0; i < first.graph.ops.length; i++) {
    for (const rank of ranks) await rank.run(i);
    const op = first.graph.ops[i]!;
    const partial = op.op === "embed" || (op.op === "linear" && first.tensors.get(op.weight)!.parallel === "row");
    if (partial) addUp(ranks.map((rank) => rank.madeBy(i)));
  }
  const logits = ranks.map((rank) => rank.output());
  return Array.from(ids, (_, m) => Float64Array.from(logits.flatMap((rows) => [...rows[m]!])));
}

/** Gives every rank the sum: an all-reduce. */
function addUp(parts: readonly Rows[]): void {
  for (const m of parts[0]!.keys()) {
    const sum = parts[0]![m]!.map((_, n) => parts.reduce((total, rows) => total + rows[m]![n]!, 0));
    for (const rows of parts) rows[m]!.set(sum);
  }
}

class Rank {
  readonly #shard: ModelShard;
  readonly #graph: Graph;
  readonly #ids: ArrayLike<number>;
  readonly #values = new Map<Value, Rows>();

  constructor(shard: ModelShard, ids: ArrayLike<number>) {
    this.#shard = shard;
    this.#graph = shard.graph;
    this.#ids = ids;
  }

  madeBy(i: number): Rows {
    return this.#values.get((this.#graph.ops[i] as { out: Value }).out)!;
  }

  output(): Rows {
    return this.#values.get(this.#graph.output!)!;
  }

  async run(i: number): Promise<void> {
    const op = this.#graph.ops[i]!;
    const of = (value: Value): Rows => this.#values.get(value)!;
    const set = (value: Value, rows: Rows): void => void this.#values.set(value, rows);
    switch (op.op) {
      case "embed":
        return set(op.out, await this.#embed(op));
      case "gather":
        return set(op.out, of(op.input));
      case "norm": {
        const weight = await this.#shard.vector(op.weight);
        return set(
          op.out,
          of(op.input).map((row) => norm(row, weight, op.eps)),
        );
      }
      case "linear": {
        const weights = await weightsOf(this.#shard.matrix(op.weight));
        const bias = op.bias === undefined ? undefined : await this.#shard.vector(op.bias);
        return set(
          op.out,
          of(op.input).map((x) =>
            Float64Array.from(weights, (row, n) => row.reduce((sum, w, k) => sum + w * x[k]!, bias?.[n] ?? 0)),
          ),
        );
      }
      case "rope": {
        const table = new RopeTable(this.#graph.ropeTables[op.table]!);
        of(op.value).forEach((row, position) => {
          for (let h = 0; h < op.heads; h++)
            turn(row.subarray(h * op.headSize, (h + 1) * op.headSize), table.row(position), op.pairing);
        });
        return;
      }
      case "attention":
        return set(op.out, attend(of(op.q), of(op.k), of(op.v), op.shape));
      case "gate":
        return set(
          op.out,
          of(op.gate).map((row, m) => row.map((g, n) => activation(op.kind, g) * of(op.up)[m]![n]!)),
        );
      case "scale": {
        const { multiplier, softCap } = op;
        for (const row of of(op.value))
          row.forEach((x, n) => {
            row[n] = softCap ? softCap * Math.tanh((x * multiplier) / softCap) : x * multiplier;
          });
        return;
      }
      case "headGate":
        return set(
          op.out,
          of(op.input).map((row, m) => {
            const gate = of(op.gate)[m]!;
            const size = row.length / gate.length;
            return row.map((x, n) => x / (1 + Math.exp(-gate[Math.floor(n / size)]!)));
          }),
        );
      case "add":
        return set(
          op.out,
          of(op.a).map((row, m) => row.map((a, n) => a + of(op.b)[m]![n]!)),
        );
    }
  }

  /** Rows of the rank's own tokens, zeros for those of others. */
  async #embed({ weight, out, multiplier }: Extract<GraphOp, { op: "embed" }>): Promise<Rows> {
    const table = await weightsOf(this.#shard.matrix(weight));
    const { first } = this.#shard.share.vocabulary;
    return Array.from(this.#ids, (id) =>
      Float64Array.from(table[id - first] ?? new Float32Array(out.width), (x) => x * multiplier),
    );
  }
}

/** Each part of the row as long as the weights by itself. */
function norm(row: Float64Array, weight: Float32Array, eps: number): Float64Array {
  const size = weight.length;
  return row.map((x, i) => {
    const part = row.subarray(i - (i % size), i - (i % size) + size);
    return (x / Math.sqrt(part.reduce((sum, y) => sum + y * y, 0) / size + eps)) * weight[i % size]!;
  });
}

function turn(head: Float64Array, angles: Float32Array, pairing: "halves" | "neighbours"): void {
  const half = angles.length / 2;
  for (let i = 0; i < half; i++) {
    const [a, b] = pairing === "halves" ? [i, i + half] : [2 * i, 2 * i + 1];
    const [x, y, cos, sin] = [head[a]!, head[b]!, angles[i]!, angles[half + i]!];
    head[a] = x * cos - y * sin;
    head[b] = y * cos + x * sin;
  }
}

type Shape = Extract<GraphOp, { op: "attention" }>["shape"];

function attend(q: Rows, k: Rows, v: Rows, { heads, kvHeads, headSize, scale, window, softCap }: Shape): Rows {
  return q.map((row, m) => {
    const out = new Float64Array(row.length);
    for (let h = 0; h < heads; h++) {
      const from = Math.floor(h / (heads / kvHeads)) * headSize;
      const first = window ? Math.max(0, m - window + 1) : 0;
      const scores: number[] = [];
      for (let t = first; t <= m; t++) {
        let score = 0;
        for (let d = 0; d < headSize; d++) score += row[h * headSize + d]! * k[t]![from + d]!;
        score *= scale;
        scores.push(softCap ? softCap * Math.tanh(score / softCap) : score);
      }
      const most = Math.max(...scores);
      const weights = scores.map((score) => Math.exp(score - most));
      const total = weights.reduce((sum, w) => sum + w, 0);
      for (let d = 0; d < headSize; d++)
        out[h * headSize + d] = weights.reduce((sum, w, t) => sum + (w / total) * v[first + t]![from + d]!, 0);
    }
    return out;
  });
}

function activation(kind: string, x: number): number {
  if (kind === "silu") return x / (1 + Math.exp(-x));
  if (kind === "gelu-tanh") return 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
  return (x / 2) * (1 + erf(x / Math.SQRT2));
}

/** By its series, which converges everywhere: Σ (−1)ⁿ x^(2n+1) / (n! (2n+1)). */
function erf(x: number): number {
  if (Math.abs(x) > 4) return Math.sign(x);
  let sum = 0;
  for (let n = 0, term = x; Math.abs(term) > 1e-18; n++, term *= (-x * x) / n) sum += term / (2 * n + 1);
  return (2 / Math.sqrt(Math.PI)) * sum;
}
