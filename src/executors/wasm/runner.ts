import { HalfbyteError } from "../../errors.ts";
import { blocksFor } from "../../plan/cache-layout.ts";
import { BLOCK_TOKENS, type Plan } from "../../plan/plan.ts";
import { RopeTable } from "../../plan/rope-table.ts";
import { checkBatch } from "../check-batch.ts";
import type { ExecutorInfo, PlanRunner, RunnerMemory, StepBatch } from "../executor.ts";
import { KeptValues, type RowCounts, rowCounts } from "../kept-rows.ts";
import type { ComputePool } from "./compute-pool.ts";
import type { KernelMemory } from "./kernel-memory.ts";
import { alignUp, CACHE_CHUNK_BLOCKS, type MemoryMap, PIECE_WORDS, setControl } from "./memory-map.ts";

/** Scratch of one thread for the linear kernels: the panel they unpack weights to. */
const LINEAR_SCRATCH_BYTES = 1 << 18;
/** Scores that one claim of attention keeps, where a row of them is not longer: they stay in the second-level cache. */
const SCORE_BYTES = 1 << 19;
/** Rows that share the conversion of a cache block; past this there is nothing left to win. */
const PIECE_ROWS = 16;

/** A plan whose weights stand in a WebAssembly memory. */
export class WasmRunner implements PlanRunner {
  readonly plan: Plan;
  readonly executor: ExecutorInfo;
  readonly #memory: KernelMemory;
  readonly #map: MemoryMap;
  readonly #pool: ComputePool;
  readonly #ropeTables: readonly RopeTable[];
  /** Heads that share a key-value head, at most. */
  readonly #group: number;
  readonly #kept: KeptValues;
  #blocks = 0;
  #logits = new Float32Array(0);
  #stepping = false;
  #disposed = false;

  constructor(plan: Plan, executor: ExecutorInfo, memory: KernelMemory, map: MemoryMap, pool: ComputePool) {
    this.plan = plan;
    this.executor = executor;
    this.#memory = memory;
    this.#map = map;
    this.#pool = pool;
    this.#kept = new KeptValues(plan);
    this.#ropeTables = plan.ropeTables.map((spec) => new RopeTable(spec));
    this.#group = Math.max(1, ...plan.ops.map((op) => (op.op === "attention" ? op.heads / op.kvHeads : 1)));
  }

  get memory(): RunnerMemory {
    const weightBytes = this.plan.matrices.reduce((sum, { layout }) => sum + layout.byteLength, 0);
    return { weightBytes, arenaBytes: this.plan.arenaBytes, cacheBytes: this.#cacheBytes(this.#blocks) };
  }

  ensureBlocks(count: number): void {
    if (this.#disposed) throw disposed();
    if (count <= this.#blocks) return;
    // What stands behind the cache is made anew for every step.
    this.#memory.ensure(this.#map.end + this.#cacheBytes(count));
    this.#blocks = count;
  }

  #cacheBytes(blocks: number): number {
    return Math.ceil(blocks / CACHE_CHUNK_BLOCKS) * CACHE_CHUNK_BLOCKS * this.plan.cache.blockBytes;
  }

  async step(batch: StepBatch): Promise<Float32Array> {
    if (this.#disposed) throw disposed();
    if (this.#stepping) throw new HalfbyteError("ERR_ARGUMENT", "a step is under way; steps go one at a time");
    checkBatch(this.plan, batch, this.#blocks);
    this.#stepping = true;
    this.#kept.began();
    try {
      const counts = rowCounts(batch);
      this.#prepare(batch, counts);
      await this.#pool.run("step");
      this.#kept.ended(counts);
      return this.#copyLogits(counts.logits);
    } finally {
      this.#stepping = false;
    }
  }

  read(name: string): Float32Array {
    if (this.#disposed) throw disposed();
    const { arena } = this.#map;
    const { floats } = this.#memory;
    return this.#kept.read(name, (offset, width) =>
      floats.subarray((arena + offset) / 4, (arena + offset) / 4 + width),
    );
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
    await this.#pool.dispose();
  }

  #prepare(batch: StepBatch, counts: RowCounts): void {
    const map = this.#map;
    const longest = Math.max(...batch.segments.map(({ position, rows }) => position + rows));
    // A claim keeps a row of scores for each head and row, rounded up to blocks, and 16 numbers more.
    const scoreRowBytes = this.#group * (blocksFor(longest) + 1) * BLOCK_TOKENS * 4;
    const pieceRows = Math.max(1, Math.min(PIECE_ROWS, Math.floor(SCORE_BYTES / scoreRowBytes)));
    const attentionBytes = this.plan.cache.headSize * BLOCK_TOKENS * 4 + pieceRows * scoreRowBytes;
    const scratchStride = alignUp(Math.max(LINEAR_SCRATCH_BYTES, attentionBytes));

    const cache = map.end;
    const tables = cache + this.#cacheBytes(this.#blocks);
    const tableWords = batch.segments.reduce((sum, { position, rows }) => sum + blocksFor(position + rows), 0);
    const scratch = alignUp(tables + tableWords * 4);
    this.#memory.ensure(scratch + this.#pool.threads * scratchStride);

    const { words } = this.#memory;
    words.fill(0, map.claims / 4, map.claims / 4 + map.claimWords);
    words.set(batch.tokenIds, map.tokenIds / 4);
    words.set(batch.logitRows, map.logitRows / 4);
    const pieceCount = this.#writeSegments(batch, tables, pieceRows);
    setControl(this.#memory, {
      tokenCount: counts.tokens,
      selectedCount: counts.selected,
      logitCount: counts.logits,
      cache,
      pieceCount,
      scratch,
      scratchStride,
    });
  }

  #writeSegments(batch: StepBatch, tables: number, pieceRows: number): number {
    const { words, floats } = this.#memory;
    const map = this.#map;
    let row = 0;
    let table = tables;
    let pieces = 0;
    for (const { position, rows, blocks } of batch.segments) {
      const end = position + rows;
      words.set(blocks.subarray(0, blocksFor(end)), table / 4);
      for (let at = position; at < end; ) {
        // Pieces end with blocks, so that most of their rows see whole blocks.
        const pieceEnd = Math.min(end, at + pieceRows - (at % pieceRows));
        words.set([row + at - position, pieceEnd - at, at], map.pieces / 4 + PIECE_WORDS * pieces++);
        at = pieceEnd;
      }
      for (let i = 0; i < rows; i++, row++) {
        words[map.positions / 4 + row] = position + i;
        words[map.blockTables / 4 + row] = table;
        this.#ropeTables.forEach((rope, t) => {
          floats.set(rope.row(position + i), map.ropeRows[t]! / 4 + row * rope.rotary);
        });
      }
      table += blocksFor(end) * 4;
    }
    return pieces;
  }

  #copyLogits(rows: number): Float32Array {
    const { logits, vocabularySize } = this.plan;
    const { floats } = this.#memory;
    if (this.#logits.length !== rows * vocabularySize) this.#logits = new Float32Array(rows * vocabularySize);
    for (let m = 0; m < rows; m++) {
      const at = (this.#map.arena + logits.offset + m * logits.stride) / 4;
      this.#logits.set(floats.subarray(at, at + vocabularySize), m * vocabularySize);
    }
    return this.#logits;
  }
}

function disposed(): HalfbyteError {
  return new HalfbyteError("ERR_DISPOSED", "the model was disposed");
}
