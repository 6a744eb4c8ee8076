import { HalfbyteError } from "../../errors.ts";
import { encodeMatrix, encodeOps, MATRIX_WORDS } from "../../plan/encode.ts";
import type { Plan } from "../../plan/plan.ts";
import { RopeTable } from "../../plan/rope-table.ts";
import { checkBatch } from "../check-batch.ts";
import type { ExecutorInfo, LoadOptions, PlanRunner, RunnerMemory, StepBatch, WeightSet } from "../executor.ts";
import { KeptValues, rowCounts } from "../kept-rows.ts";
import { type Addon, calling, type Handle } from "./addon.ts";
import { loadWeights } from "./load-weights.ts";

/** Gives the plan memory and threads in the addon and packs its weights there. */
export async function createRunner(
  addon: Addon,
  plan: Plan,
  weights: WeightSet,
  executor: ExecutorInfo,
  options: LoadOptions,
): Promise<PlanRunner> {
  options.signal?.throwIfAborted();
  const vectors = await Promise.all(plan.vectors.map(({ name }) => weights.vector(name)));
  const matrices = new Int32Array(plan.matrices.length * MATRIX_WORDS);
  plan.matrices.forEach(({ layout }, i) => {
    matrices.set(encodeMatrix(layout, 0), i * MATRIX_WORDS);
  });
  const ropeTables = Int32Array.from(plan.ropeTables, ({ rotary }) => rotary);
  const shape = shapeOf(plan, executor.threads);
  const handle = calling(() =>
    addon.create(encodeOps(plan.ops), matrices, vectors, ropeTables, shape, executor.kernel),
  );
  try {
    await loadWeights(addon, handle, plan, weights, options);
    return new NativeRunner(addon, handle, plan, executor);
  } catch (error) {
    addon.release(handle);
    throw error;
  }
}

function shapeOf({ cache, activations, ...plan }: Plan, threads: number): Float64Array {
  const { type, layers, kvHeads, headSize, headBytes, blockBytes } = cache;
  const { arenaBytes, maxRows, maxLogitRows } = plan;
  const sizes = [layers, kvHeads, headSize, headBytes, blockBytes, arenaBytes, maxRows, maxLogitRows];
  return Float64Array.of(Number(type === "f32"), ...sizes, Number(activations === "a16"), threads);
}

class NativeRunner implements PlanRunner {
  readonly plan: Plan;
  readonly executor: ExecutorInfo;
  readonly #addon: Addon;
  readonly #handle: Handle;
  readonly #ropeTables: readonly RopeTable[];
  readonly #logits: Float32Array;
  readonly #kept: KeptValues;
  #blocks = 0;
  #cacheBytes = 0;
  #running: Promise<boolean> | undefined;
  #disposed: Promise<void> | undefined;

  constructor(addon: Addon, handle: Handle, plan: Plan, executor: ExecutorInfo) {
    this.plan = plan;
    this.executor = executor;
    this.#addon = addon;
    this.#handle = handle;
    this.#kept = new KeptValues(plan);
    this.#ropeTables = plan.ropeTables.map((spec) => new RopeTable(spec));
    const { offset, stride } = plan.logits;
    this.#logits = new Float32Array(calling(() => addon.logits(handle, offset, stride * plan.maxLogitRows)));
  }

  get memory(): RunnerMemory {
    const weightBytes = this.plan.matrices.reduce((sum, { layout }) => sum + layout.byteLength, 0);
    return { weightBytes, arenaBytes: this.plan.arenaBytes, cacheBytes: this.#cacheBytes };
  }

  ensureBlocks(count: number): void {
    this.#throwIfBusy();
    if (count <= this.#blocks) return;
    this.#cacheBytes = calling(() => this.#addon.ensureBlocks(this.#handle, count));
    this.#blocks = count;
  }

  async step(batch: StepBatch): Promise<Float32Array> {
    this.#throwIfBusy();
    checkBatch(this.plan, batch, this.#blocks);
    const { segments, blocks } = flatSegments(batch);
    const { tokenIds, logitRows } = batch;
    const counts = rowCounts(batch);
    const running = calling(() =>
      this.#addon.step(this.#handle, tokenIds, segments, blocks, logitRows, this.#angles(batch), counts.logits),
    );
    this.#kept.began();
    this.#running = running;
    const whole = await running;
    this.#running = undefined;
    if (!whole) throw disposedError();
    this.#kept.ended(counts);
    return this.#logitsOf(counts.logits);
  }

  read(name: string): Float32Array {
    if (this.#disposed) throw disposedError();
    return this.#kept.read(
      name,
      (offset, width) => new Float32Array(calling(() => this.#addon.read(this.#handle, offset, width * 4))),
    );
  }

  dispose(): Promise<void> {
    this.#disposed ??= this.#release();
    return this.#disposed;
  }

  async #release(): Promise<void> {
    if (this.#running) {
      this.#addon.cancel(this.#handle);
      await this.#running;
    }
    this.#addon.release(this.#handle);
    this.#cacheBytes = 0;
  }

  #throwIfBusy(): void {
    if (this.#disposed) throw disposedError();
    if (this.#running) throw new HalfbyteError("ERR_ARGUMENT", "a step is under way", { remedy: "await it first" });
  }

  /** For each rotary table, the row of angles of every token's position. */
  #angles({ tokenIds, segments }: StepBatch): Float32Array {
    const width = this.#ropeTables.reduce((sum, { rotary }) => sum + rotary, 0);
    const angles = new Float32Array(width * tokenIds.length);
    let at = 0;
    for (const table of this.#ropeTables)
      for (const { rows, position } of segments)
        for (let i = 0; i < rows; i++, at += table.rotary) angles.set(table.row(position + i), at);
    return angles;
  }

  /** A view where rows stand without gaps, else a copy. */
  #logitsOf(rows: number): Float32Array {
    const { vocabularySize, logits } = this.plan;
    const stride = logits.stride / 4;
    if (rows <= 1 || stride === vocabularySize) return this.#logits.subarray(0, rows * vocabularySize);
    const out = new Float32Array(rows * vocabularySize);
    for (let m = 0; m < rows; m++)
      out.set(this.#logits.subarray(m * stride, m * stride + vocabularySize), m * vocabularySize);
    return out;
  }
}

function disposedError(): HalfbyteError {
  return new HalfbyteError("ERR_DISPOSED", "the model was disposed");
}

/** Rows, position and the place of the first block, for each segment; and all blocks, one segment after another. */
function flatSegments({ segments }: StepBatch): { segments: Int32Array; blocks: Int32Array } {
  const blocks = new Int32Array(segments.reduce((sum, segment) => sum + segment.blocks.length, 0));
  let at = 0;
  const flat = segments.flatMap((segment) => {
    const record = [segment.rows, segment.position, at];
    blocks.set(segment.blocks, at);
    at += segment.blocks.length;
    return record;
  });
  return { segments: Int32Array.from(flat), blocks };
}
