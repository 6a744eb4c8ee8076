import { f32ToBf16, f32ToF16 } from "../src/arithmetic/half.ts";
import type { StepBatch, WeightSet } from "../src/executors/executor.ts";
import { type CompileOptions, compile } from "../src/plan/compile.ts";
import { type GateKind, Graph, type RopePairing } from "../src/plan/graph.ts";
import type { Plan } from "../src/plan/plan.ts";
import { type PackedLayout, packedLayout } from "../src/weights/packed-layout.ts";
import type { FloatType, GroupValues, Matrix, QuantizedMatrix } from "../src/weights/quantized-matrix.ts";

/** Every kind of matrix the packed layout has, by the encoding that brings it. */
export const MATRIX_KINDS: readonly string[] = [
  "q4_0",
  "q4_1",
  "q5_0",
  "q5_1",
  "q8_0",
  "q2_k",
  "q3_k",
  "q4_k",
  "q5_k",
  "q6_k",
  "iq4_nl",
  "iq4_xs",
  "mxfp4",
  "cpu_int4_g64",
  "zeros_g64",
  "symmetric_g128",
  "symmetric_g256",
  "per_channel",
  "per_channel_8",
  "f32",
  "f16",
  "bf16",
];

/** A small seeded generator: tests must be the same everywhere. */
export class Random {
  #state: number;
  constructor(seed: number) {
    this.#state = seed >>> 0 || 1;
  }
  bits(): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return this.#state >>> 0;
  }
  below(n: number): number {
    return this.bits() % n;
  }
  /** Uniform in −1..1. */
  float(): number {
    return this.bits() / 2 ** 31 - 1;
  }
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }
}

/** A random matrix of a kind; K must be a multiple of 256 for the k-quants. */
export function randomMatrix(random: Random, kind: string, N: number, K: number): Matrix {
  const flat = (type: FloatType, groups: number, size: number): GroupValues => {
    const values = Float32Array.from({ length: N * groups }, () => random.float() * size);
    if (type === "f32") return { kind: "f32", values };
    return { kind: type, values: Uint16Array.from(values, type === "f16" ? f32ToF16 : f32ToBf16) };
  };
  const levels = (code: "u8" | "i8", groups: number, size: number): GroupValues => ({
    kind: `two-level-${code}`,
    codes: Uint8Array.from({ length: N * groups }, () =>
      code === "u8" ? random.below(64) : (random.below(64) - 32) & 255,
    ),
    superValues: Uint16Array.from({ length: N * Math.ceil(K / 256) }, () => f32ToF16((random.float() * size) / 32)),
    superSize: 256,
  });
  const make = (
    bits: QuantizedMatrix["bits"],
    groupSize: number,
    rest: (groups: number) => Partial<QuantizedMatrix>,
    range = 2 ** bits,
  ): Matrix => {
    const groups = Math.ceil(K / groupSize);
    return {
      kind: "quantized",
      N,
      K,
      bits,
      groupSize,
      codes: Uint8Array.from({ length: N * K }, () => random.below(range)),
      zero: 0,
      scale: flat("f16", groups, 0.02),
      ...rest(groups),
    };
  };
  const book = Int8Array.from([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113]);
  switch (kind) {
    case "q4_0":
      return make(4, 32, () => ({ zero: 8 }));
    case "q4_1":
      return make(4, 32, (g) => ({ offset: flat("f16", g, 0.2) }));
    case "q5_0":
      return make(5, 32, () => ({ zero: 16 }));
    case "q5_1":
      return make(5, 32, (g) => ({ offset: flat("f16", g, 0.2) }));
    case "q8_0":
      return make(8, 32, (g) => ({ zero: 128, scale: flat("f16", g, 0.002) }));
    case "q2_k":
      return make(4, 16, (g) => ({ scale: levels("u8", g, 0.02), offset: levels("u8", g, 0.1) }), 4);
    case "q3_k":
      return make(4, 16, (g) => ({ zero: 4, scale: levels("i8", g, 0.02) }), 8);
    case "q4_k":
      return make(4, 32, (g) => ({ scale: levels("u8", g, 0.02), offset: levels("u8", g, 0.1) }));
    case "q5_k":
      return make(5, 32, (g) => ({ scale: levels("u8", g, 0.01), offset: levels("u8", g, 0.1) }));
    case "q6_k":
      return make(6, 16, (g) => ({ zero: 32, scale: levels("i8", g, 0.01) }));
    case "iq4_nl":
      return make(4, 32, (g) => ({ codeBook: book, scale: flat("f16", g, 0.002) }));
    case "iq4_xs":
      return make(4, 32, (g) => ({ codeBook: book, scale: levels("i8", g, 0.002) }));
    case "mxfp4":
      return make(4, 32, (g) => ({
        codeBook: Int8Array.from([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12]),
        scale: flat("bf16", g, 0.02),
      }));
    case "cpu_int4_g64":
      return make(4, 64, (g) => ({ zero: 8, scale: flat("bf16", g, 0.02), offset: flat("bf16", g, 0.1) }));
    case "zeros_g64":
      return make(4, 64, (g) => ({ zero: Uint8Array.from({ length: N * g }, () => random.below(16)) }));
    case "symmetric_g128":
      return make(4, 128, () => ({ zero: 8 }));
    case "symmetric_g256":
      return make(4, 256, () => ({ zero: 8 }));
    case "per_channel":
      return make(4, K, (g) => ({ zero: 8, scale: flat("f32", g, 0.02) }));
    case "per_channel_8":
      return make(8, K, (g) => ({ zero: 128, scale: flat("f32", g, 0.002) }));
    case "f32":
      return {
        kind: "float",
        N,
        K,
        type: "f32",
        values: Float32Array.from({ length: N * K }, () => random.float() * 0.1),
      };
    case "f16":
    case "bf16": {
      const round = kind === "f16" ? f32ToF16 : f32ToBf16;
      return {
        kind: "float",
        N,
        K,
        type: kind,
        values: Uint16Array.from({ length: N * K }, () => round(random.float() * 0.1)),
      };
    }
    default:
      throw new Error(`no such kind: ${kind}`);
  }
}

export interface RandomModel {
  readonly plan: Plan;
  readonly weights: WeightSet;
  readonly matrices: ReadonlyMap<string, Matrix>;
}

export interface ModelShape {
  readonly seed: number;
  /** Encodings to draw from, one for each matrix. */
  readonly kinds?: readonly string[];
  readonly hidden?: number;
  readonly layers?: number;
  readonly compile?: CompileOptions;
  /** Every value of the graph stays readable. */
  readonly keepAll?: boolean;
}

/** A random decoder with every op in it: post-norms, head norms, biases, windows, caps, both rotary pairings. */
export function randomModel({
  seed,
  kinds = MATRIX_KINDS,
  hidden = 256,
  layers = 2,
  compile: options = {},
  keepAll = false,
}: ModelShape): RandomModel {
  const random = new Random(seed);
  const matrices = new Map<string, Matrix>();
  const vectors = new Map<string, Float32Array>();
  const graph = new Graph();
  const matrix = (name: string, N: number, K: number): string => {
    if (!matrices.has(name)) matrices.set(name, randomMatrix(random, random.pick(kinds), N, K));
    return name;
  };
  const vector = (name: string, length: number, around: number): string => {
    vectors.set(
      name,
      Float32Array.from({ length }, () => around + random.float() * 0.3),
    );
    return name;
  };
  const headSize = random.pick([16, 32, 48, 64]);
  const kvHeads = random.pick([1, 2, 3]);
  const heads = kvHeads * random.pick([1, 2, 3]);
  const inner = random.pick([256, 512]);
  const vocabulary = random.pick([33, 64, 100]);
  const attentionWidth = heads * headSize;
  const pairing = random.pick<RopePairing>(["halves", "neighbours"]);
  const table = graph.ropeTable({ rotary: random.pick([headSize, headSize / 2]), base: 10000 });
  let x = graph.embed(matrix("embedding", vocabulary, hidden), hidden, random.pick([1, 3.5]));
  for (let l = 0; l < layers; l++) {
    const n = graph.norm(x, vector(`${l}.norm1`, hidden, 1), 1e-5);
    const bias = random.below(2) ? vector(`${l}.bias`, attentionWidth, 0) : undefined;
    let q = graph.linear(n, matrix(`${l}.q`, attentionWidth, hidden), attentionWidth, "q", bias);
    let k = graph.linear(n, matrix(`${l}.k`, kvHeads * headSize, hidden), kvHeads * headSize, "k");
    const v = graph.linear(n, matrix(`${l}.v`, kvHeads * headSize, hidden), kvHeads * headSize, "v");
    if (random.below(2)) {
      q = graph.norm(q, vector(`${l}.qnorm`, headSize, 1), 1e-6, heads);
      k = graph.norm(k, vector(`${l}.knorm`, headSize, 1), 1e-6, kvHeads);
    }
    graph.rope(q, heads, table, pairing);
    graph.rope(k, kvHeads, table, pairing);
    let attended = graph.attention(l, q, k, v, {
      heads,
      kvHeads,
      headSize,
      scale: headSize ** -0.5,
      ...(random.below(2) && { window: random.pick([1, 5, 16, 19]) }),
      ...(random.below(2) && { softCap: 3 }),
    });
    if (random.below(3) === 0)
      attended = graph.headGate(graph.linear(n, matrix(`${l}.g`, heads, hidden), heads, "g"), attended);
    // k-quants need K a multiple of 256, which heads · headSize need not be.
    const narrow = attentionWidth % 256 ? ["q4_0", "q8_0", "f16", "per_channel"] : kinds;
    matrices.set(`${l}.o`, randomMatrix(random, random.pick(narrow), hidden, attentionWidth));
    let o = graph.linear(attended, `${l}.o`, hidden, "o");
    if (random.below(2)) o = graph.norm(o, vector(`${l}.post`, hidden, 1), 1e-5);
    if (random.below(3) === 0) graph.scale(o, 0.7);
    x = graph.add(x, o);
    const m = graph.norm(x, vector(`${l}.norm2`, hidden, 1), 1e-5);
    const gate = graph.linear(m, matrix(`${l}.gate`, inner, hidden), inner, "gate");
    const up = graph.linear(m, matrix(`${l}.up`, inner, hidden), inner, "up");
    const gated = graph.gate(gate, up, random.pick<GateKind>(["silu", "gelu-tanh", "gelu-erf"]));
    x = graph.add(x, graph.linear(gated, matrix(`${l}.down`, hidden, inner), hidden, "down"));
  }
  const last = graph.norm(graph.gather(x), vector("norm", hidden, 1), 1e-5);
  graph.output = graph.linear(
    last,
    random.below(2) ? "embedding" : matrix("head", vocabulary, hidden),
    vocabulary,
    "logits",
  );
  if (random.below(2)) graph.scale(graph.output, 0.5, random.pick([undefined, 5]));
  const orders = new Random(seed + 1);
  const layouts = new Map<string, PackedLayout>(
    [...matrices].map(([name, m]) => {
      const ordered = m.kind === "quantized" && name !== "embedding" && orders.below(3) === 0;
      // Two orders at most for all matrices of so many inputs: some share one, others stand beside each other with two.
      return [
        name,
        packedLayout(m, m.N, name, ordered ? randomOrder(new Random(m.K + orders.below(2)), m.K) : undefined),
      ];
    }),
  );
  const lengths = new Map([...vectors].map(([name, v]) => [name, v.length]));
  const weights: WeightSet = {
    matrix: (name) => sourceOf(name, matrices.get(name)!),
    vector: async (name) => vectors.get(name)!,
  };
  const keep = keepAll ? graph.ops.flatMap((op) => ("out" in op ? [op.out.name] : [])) : [];
  return { plan: compile(graph, layouts, lengths, { keep, ...options }), weights, matrices };
}

function randomOrder(random: Random, K: number): Int32Array {
  const order = Int32Array.from({ length: K }, (_, k) => k);
  for (let k = K - 1; k > 0; k--) {
    const other = random.below(k + 1);
    [order[k], order[other]] = [order[other]!, order[k]!];
  }
  return order;
}

function sourceOf(name: string, m: Matrix): ReturnType<WeightSet["matrix"]> {
  return { name, N: m.N, K: m.K, like: m, rowBytes: m.K, readRows: async (first, count) => sliceRows(m, first, count) };
}

/** Rows of a matrix as a matrix. */
export function sliceRows(m: Matrix, first: number, count: number): Matrix {
  const rows = <T extends Uint8Array | Uint16Array | Float32Array>(a: T): T => {
    const width = a.length / m.N;
    return a.slice(first * width, (first + count) * width) as T;
  };
  if (m.kind === "float") return { ...m, N: count, values: rows(m.values) };
  const cut = (v: GroupValues): GroupValues =>
    "superValues" in v
      ? { ...v, codes: rows(v.codes), superValues: rows(v.superValues) }
      : ({ ...v, values: rows(v.values) } as GroupValues);
  return {
    ...m,
    N: count,
    codes: rows(m.codes),
    scale: cut(m.scale),
    zero: typeof m.zero === "number" ? m.zero : rows(m.zero),
    ...(m.offset && { offset: cut(m.offset) }),
  };
}

/** A step over one sequence whose blocks are scattered, so that a wrong block table shows. */
export function randomStep(
  random: Random,
  plan: Plan,
  rows: number,
  position: number,
  blocks: Int32Array,
  logitRows: number[],
): StepBatch {
  const vocabulary = plan.matrices[0]!.layout.N;
  return {
    tokenIds: Int32Array.from({ length: rows }, () => random.below(vocabulary)),
    segments: [{ rows, position, blocks }],
    logitRows: Int32Array.from(logitRows),
  };
}
