import type { Value } from "../../plan/graph.ts";
import { absorberOf, searchFactors, type Taker } from "./awq.ts";
import { Hessian } from "./hessian.ts";
import type { States } from "./layer-runs.ts";
import type { LayerQuantizer } from "./quantize-layers.ts";
import type { Stage } from "./slice-graph.ts";

/** Numbers that outlive an interruption, by name. */
export interface VectorStore {
  get(name: string): Promise<Float32Array | undefined>;
  put(name: string, values: Float32Array): Promise<void>;
}

/**
 * What AWQ scales: `columns` of a matrix are multiplied before they are rounded, and what makes its inputs is divided, a norm
 * or the rows of a matrix before. Found when the first of the two is about to be rounded, and kept before it is.
 */
export class ScaleFactors {
  readonly #store: VectorStore;
  readonly #stages: readonly Stage[];

  constructor(store: VectorStore, stages: readonly Stage[]) {
    this.#store = store;
    this.#stages = stages;
  }

  columns(name: string): Promise<Float32Array | undefined> {
    return this.#store.get(`columns of ${name}`);
  }

  divisors(name: string): Promise<Float32Array | undefined> {
    return this.#store.get(`divisors of ${name}`);
  }

  /** A norm or bias that was divided. */
  vector(name: string): Promise<Float32Array | undefined> {
    return this.#store.get(`vector ${name}`);
  }

  /** Finds the factors of a stage's inputs where a norm makes them, and those of the inputs that its own matrices make. */
  async find(quantizer: LayerQuantizer, states: States, stage: Stage): Promise<void> {
    const known = `factors of ${stage.input.name}`;
    if (await this.#store.get(known)) return;
    const found = new Map<string, Float32Array>();
    for (const other of this.#stages) {
      const absorber = absorberOf(quantizer.graph, other.input);
      const here =
        absorber?.kind === "norm" ? other.input === stage.input : stage.weights.includes(absorber?.weight ?? "");
      const takers = takersOf(quantizer, other);
      if (!absorber || !here || !takers) continue;
      const share = absorber.kind === "rows" ? absorber.share : undefined;
      const factors = await this.#search(quantizer, states, other.input, takers, share);
      if (!factors) continue;
      for (const name of other.weights) found.set(`columns of ${name}`, factors);
      if (absorber.kind === "norm") {
        const norm = divided(await quantizer.vector(absorber.vector), factors);
        found.set(`vector ${absorber.vector}`, norm.map(exactLessOne));
        continue;
      }
      const { weight, bias } = absorber;
      const divisors = rowDivisors(factors, share, quantizer.source(weight).N);
      found.set(`divisors of ${weight}`, divisors);
      if (bias !== undefined) found.set(`vector ${bias}`, divided(await quantizer.vector(bias), divisors));
    }
    for (const [name, values] of found) await this.#store.put(name, values);
    await this.#store.put(known, Float32Array.of(found.size));
  }

  async #search(
    { pool, runs }: LayerQuantizer,
    states: States,
    input: Value,
    takers: readonly Taker[],
    share: Int32Array | undefined,
  ): Promise<Float32Array | undefined> {
    const mark = pool.mark();
    try {
      const hessian = new Hessian(pool, input.width);
      await runs.each(states, input, (rows) => hessian.add(rows));
      return await searchFactors(pool, hessian, takers, share);
    } finally {
      pool.release(mark);
    }
  }
}

/** All matrices that take an input, if each is to be scaled. */
function takersOf(quantizer: LayerQuantizer, { weights }: Stage): Taker[] | undefined {
  const takers: Taker[] = [];
  for (const name of weights) {
    const plan = quantizer.plan(name);
    if (plan?.method !== "awq") return undefined;
    takers.push({ source: quantizer.source(name), grid: plan.grid });
  }
  return takers;
}

/** Some architectures store norms less 1: a value that this leaves exact. */
function exactLessOne(value: number): number {
  return Math.fround(value - 1) + 1;
}

function divided(values: Float32Array, divisors: Float32Array): Float32Array {
  return values.map((value, i) => value / divisors[i]!);
}

/** Of the rows that make inputs: several inputs may come of one row. */
function rowDivisors(factors: Float32Array, share: Int32Array | undefined, N: number): Float32Array {
  if (!share) return factors;
  const divisors = new Float32Array(N).fill(1);
  factors.forEach((factor, k) => {
    divisors[share[k]!] = factor;
  });
  return divisors;
}
