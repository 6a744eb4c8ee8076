import { f16ToF32, f32ToF16 } from "../../arithmetic/half.ts";
import { HalfbyteError } from "../../errors.ts";
import { keysAt } from "../../plan/cache-layout.ts";
import type { AttentionOp, LinearOp, Plan, PlanOp, QuantizedBuffer, RowBuffer, StoreOp } from "../../plan/plan.ts";
import { BLOCK_TOKENS } from "../../plan/plan.ts";
import { RopeTable } from "../../plan/rope-table.ts";
import type { Matrix } from "../../weights/quantized-matrix.ts";
import { matrixRowToFloat } from "../../weights/unpack.ts";
import { checkBatch } from "../check-batch.ts";
import type {
  Executor,
  ExecutorInfo,
  LoadOptions,
  PlanRunner,
  RunnerMemory,
  StepBatch,
  WeightSet,
} from "../executor.ts";
import { KeptValues, rowCounts } from "../kept-rows.ts";
import { attendHead, type CachedNumber } from "./attention.ts";
import { floatOutput, type QuantizedRows, quantizedOutput } from "./linear.ts";
import { gateRow, headGateRow, quantizeRow, rmsNorm, ropeHead, scaleRow } from "./row-ops.ts";

/** The law: plain TypeScript, one number after another. Far too slow to chat with; every other executor gives its bits. */
export const referenceExecutor: Executor = {
  name: "reference",
  unavailable: async () => undefined,
  kernels: async () => [{ name: "typescript", unavailable: undefined }],
  async load(plan: Plan, weights: WeightSet, options: LoadOptions = {}): Promise<PlanRunner> {
    const matrices: Matrix[] = [];
    const totalBytes = plan.matrices.reduce((sum, { layout }) => sum + layout.byteLength, 0);
    let packedBytes = 0;
    for (const { name, layout } of plan.matrices) {
      options.signal?.throwIfAborted();
      matrices.push(await weights.matrix(name).readRows(0, layout.N));
      options.onProgress?.((packedBytes += layout.byteLength), totalBytes);
    }
    const vectors = await Promise.all(plan.vectors.map(({ name }) => weights.vector(name)));
    return new ReferenceRunner(plan, matrices, vectors);
  },
};

class ReferenceRunner implements PlanRunner {
  readonly executor: ExecutorInfo = {
    name: "reference",
    kernel: "typescript",
    threads: 1,
    reason: "the law, for comparisons",
    rejected: [],
  };
  readonly plan: Plan;
  readonly #matrices: readonly Matrix[];
  readonly #vectors: readonly Float32Array[];
  readonly #ropeTables: readonly RopeTable[];
  readonly #arena: ArrayBuffer;
  readonly #kept: KeptValues;
  #cache: Float32Array | Uint16Array = new Uint16Array(0);
  #blocks = 0;
  #disposed = false;

  constructor(plan: Plan, matrices: readonly Matrix[], vectors: readonly Float32Array[]) {
    this.plan = plan;
    this.#matrices = matrices;
    this.#vectors = vectors;
    this.#ropeTables = plan.ropeTables.map((spec) => new RopeTable(spec));
    this.#arena = new ArrayBuffer(plan.arenaBytes);
    this.#kept = new KeptValues(plan);
  }

  get memory(): RunnerMemory {
    const weightBytes = this.plan.matrices.reduce((sum, { layout }) => sum + layout.byteLength, 0);
    return { weightBytes, arenaBytes: this.plan.arenaBytes, cacheBytes: this.#cache.byteLength };
  }

  ensureBlocks(count: number): void {
    if (count <= this.#blocks) return;
    const { type, blockBytes } = this.plan.cache;
    const larger =
      type === "f32" ? new Float32Array((count * blockBytes) / 4) : new Uint16Array((count * blockBytes) / 2);
    larger.set(this.#cache);
    this.#cache = larger;
    this.#blocks = count;
  }

  async step(batch: StepBatch): Promise<Float32Array> {
    if (this.#disposed) throw disposedError();
    checkBatch(this.plan, batch, this.#blocks);
    const counts = rowCounts(batch);
    for (const op of this.plan.ops) this.#run(op, counts[op.rows], batch);
    this.#kept.ended(counts);
    const { logits, vocabularySize } = this.plan;
    const out = new Float32Array(counts.logits * vocabularySize);
    for (let m = 0; m < counts.logits; m++) out.set(this.#row(logits, m), m * vocabularySize);
    return out;
  }

  read(name: string): Float32Array {
    if (this.#disposed) throw disposedError();
    return this.#kept.read(name, (offset, width) => new Float32Array(this.#arena, offset, width));
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
  }

  #row(buffer: RowBuffer, m: number): Float32Array {
    return new Float32Array(this.#arena, buffer.offset + m * buffer.stride, buffer.width);
  }

  #run(op: PlanOp, rows: number, batch: StepBatch): void {
    switch (op.op) {
      case "linear":
        this.#linear(op, rows);
        break;
      case "store":
        this.#store(op, batch);
        break;
      case "attention":
        this.#attention(op, batch);
        break;
      default:
        for (let m = 0; m < rows; m++) this.#runRow(op, m, batch);
    }
  }

  #runRow(op: Exclude<PlanOp, { op: "linear" | "store" | "attention" }>, m: number, batch: StepBatch): void {
    switch (op.op) {
      case "embed": {
        const out = this.#row(op.out, m);
        matrixRowToFloat(this.#matrices[op.matrix]!, batch.tokenIds[m]!, out);
        if (op.multiplier !== 1) for (let i = 0; i < out.length; i++) out[i] = out[i]! * Math.fround(op.multiplier);
        break;
      }
      case "gather":
        this.#row(op.out, m).set(this.#row(op.input, batch.logitRows[m]!));
        break;
      case "norm": {
        const [x, y] = [this.#row(op.input, m), this.#row(op.out, m)];
        const residual = op.residual && this.#row(op.residual, m);
        const size = x.length / op.heads;
        const part = (a: Float32Array, h: number): Float32Array => a.subarray(h * size, (h + 1) * size);
        for (let h = 0; h < op.heads; h++)
          rmsNorm(part(x, h), this.#vectors[op.weight]!, op.eps, residual && part(residual, h), part(y, h));
        break;
      }
      case "reorder": {
        const [x, y] = [this.#row(op.input, m), this.#row(op.out, m)];
        op.order.forEach((from, j) => {
          y[j] = x[from]!;
        });
        break;
      }
      case "quantize": {
        const { codes, scales, sums } = this.#quantizedRow(op.out, m);
        quantizeRow(this.#row(op.input, m), op.out.group, op.out.run, this.plan.activations, codes, scales, sums);
        break;
      }
      case "rope": {
        const row = this.#row(op.buffer, m);
        const angles = this.#ropeTables[op.table]!.row(positionOf(batch, m));
        for (let h = 0; h < op.heads; h++)
          ropeHead(
            row.subarray(h * op.headSize, (h + 1) * op.headSize),
            angles,
            op.rotary,
            op.pairing === "neighbours",
          );
        break;
      }
      case "gate":
        gateRow(this.#row(op.gate, m), this.#row(op.up, m), op.kind, this.#row(op.out, m));
        break;
      case "scale":
        scaleRow(this.#row(op.buffer, m), op.multiplier, op.softCap);
        break;
      case "headGate":
        headGateRow(this.#row(op.gate, m), this.#row(op.input, m), this.#row(op.out, m));
        break;
      case "add": {
        const [a, b, out] = [this.#row(op.a, m), this.#row(op.b, m), this.#row(op.out, m)];
        for (let i = 0; i < out.length; i++) out[i] = a[i]! + b[i]!;
        break;
      }
    }
  }

  #quantizedRow(buffer: QuantizedBuffer, m: number): { codes: Int16Array; scales: Float32Array; sums: Int32Array } {
    const at = buffer.offset + m * buffer.stride;
    return {
      codes: new Int16Array(this.#arena, at, buffer.K),
      scales: new Float32Array(this.#arena, at + buffer.scaleAt, Math.ceil(buffer.K / buffer.group)),
      sums: new Int32Array(this.#arena, at + buffer.sumAt, Math.ceil(buffer.K / buffer.run)),
    };
  }

  #linear(op: LinearOp, rows: number): void {
    const { input } = op;
    const numbers = [...Array(rows).keys()];
    const quantized: QuantizedRows | undefined =
      input.kind === "f32"
        ? undefined
        : {
            codes: numbers.map((m) => this.#quantizedRow(input, m).codes),
            scales: numbers.map((m) => this.#quantizedRow(input, m).scales),
            group: input.group,
          };
    const floats = input.kind === "f32" ? numbers.map((m) => this.#row(input, m)) : [];
    const y = new Float32Array(rows);
    for (const part of op.parts) {
      const matrix = this.#matrices[part.matrix]!;
      const bias = part.bias === undefined ? undefined : this.#vectors[part.bias]!;
      const out = numbers.map((m) => this.#row(part.out, m));
      const residual = part.residual && numbers.map((m) => this.#row(part.residual!, m));
      for (let n = 0; n < matrix.N; n++) {
        if (matrix.kind === "float") floatOutput(matrix, n, floats, y);
        else quantizedOutput(matrix, n, quantized!, part.run, y);
        for (let m = 0; m < rows; m++) {
          const value = bias ? Math.fround(y[m]! + bias[n]!) : y[m]!;
          out[m]![n] = residual ? residual[m]![n]! + value : value;
        }
      }
    }
  }

  #store(op: StoreOp, batch: StepBatch): void {
    const { kvHeads, headSize, headBytes } = this.plan.cache;
    const headNumbers = this.#numbers(headBytes);
    forEachRow(batch, (m, position, blocks) => {
      const [k, v] = [this.#row(op.k, m), this.#row(op.v, m)];
      const token = position % BLOCK_TOKENS;
      for (let h = 0; h < kvHeads; h++) {
        const at = this.#cacheIndex(blocks[Math.floor(position / BLOCK_TOKENS)]!, op.layer, h);
        for (let d = 0; d < headSize; d++) {
          this.#cacheWrite(at + d * BLOCK_TOKENS + token, k[h * headSize + d]!);
          this.#cacheWrite(at + headNumbers + token * headSize + d, v[h * headSize + d]!);
        }
      }
    });
  }

  #attention(op: AttentionOp, batch: StepBatch): void {
    const { headSize, heads, kvHeads } = op;
    const headNumbers = this.#numbers(this.plan.cache.headBytes);
    const parameters = { ...op, scale: Math.fround(op.scale), softCap: Math.fround(op.softCap) };
    forEachRow(batch, (m, position, blocks) => {
      const [q, out] = [this.#row(op.q, m), this.#row(op.out, m)];
      for (let h = 0; h < heads; h++) {
        const kvHead = Math.floor(h / (heads / kvHeads));
        const at = Array.from(blocks, (block) => this.#cacheIndex(block, op.layer, kvHead));
        const key: CachedNumber = (t, d) => this.#cacheRead(at[t >> 4]! + d * BLOCK_TOKENS + (t & 15));
        const value: CachedNumber = (t, d) => this.#cacheRead(at[t >> 4]! + headNumbers + (t & 15) * headSize + d);
        const part = (a: Float32Array): Float32Array => a.subarray(h * headSize, (h + 1) * headSize);
        attendHead(part(q), key, value, position, parameters, part(out));
      }
    });
  }

  #numbers(bytes: number): number {
    return bytes / this.#cache.BYTES_PER_ELEMENT;
  }

  #cacheIndex(block: number, layer: number, kvHead: number): number {
    const { cache } = this.plan;
    return this.#numbers(block * cache.blockBytes + keysAt(cache, layer, kvHead));
  }

  #cacheRead(index: number): number {
    const stored = this.#cache[index]!;
    return this.plan.cache.type === "f32" ? stored : f16ToF32(stored);
  }

  #cacheWrite(index: number, value: number): void {
    this.#cache[index] = this.plan.cache.type === "f32" ? value : f32ToF16(value);
  }
}

function disposedError(): HalfbyteError {
  return new HalfbyteError("ERR_DISPOSED", "the model was disposed");
}

function positionOf(batch: StepBatch, row: number): number {
  let first = 0;
  for (const segment of batch.segments) {
    if (row < first + segment.rows) return segment.position + row - first;
    first += segment.rows;
  }
  return 0;
}

function forEachRow(batch: StepBatch, visit: (row: number, position: number, blocks: Int32Array) => void): void {
  let row = 0;
  for (const { rows, position, blocks } of batch.segments)
    for (let i = 0; i < rows; i++) visit(row++, position + i, blocks);
}
