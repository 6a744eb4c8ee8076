import type { Plan } from "../plan/plan.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";

/** Rows of one sequence in a step: consecutive rows, consecutive positions. */
export interface StepSegment {
  readonly rows: number;
  /** Position of the first row in its sequence; everything before it is in the cache. */
  readonly position: number;
  /** Cache blocks of the sequence in order, at least ⌈(position + rows) / 16⌉. Block ids are below the runner's count. */
  readonly blocks: Int32Array;
}

/** What one step computes: the tokens of all segments, one after another. */
export interface StepBatch {
  readonly tokenIds: Int32Array;
  readonly segments: readonly StepSegment[];
  /** Rows that go on to the end, whose logits are wanted; may be empty. The others leave keys and values only. */
  readonly logitRows: Int32Array;
  /**
   * False: the step ends before the output matrix, and its result is empty. `logitRows` may then be all rows, as what
   * is kept of them is no larger than elsewhere. Default true.
   */
  readonly logits?: boolean;
}

export interface RunnerMemory {
  readonly weightBytes: number;
  readonly arenaBytes: number;
  readonly cacheBytes: number;
}

/** A plan with its weights in an executor's memory, ready to step. */
export interface PlanRunner {
  readonly plan: Plan;
  readonly executor: ExecutorInfo;
  readonly memory: RunnerMemory;
  /** Makes room for at least `count` cache blocks; contents stay. Throws ERR_MEMORY when it cannot be had. */
  ensureBlocks(count: number): void;
  /**
   * Runs one step; one at a time. Resolves to the logits, f32 [logitRows, vocabulary], valid until the next step.
   * Throws ERR_ARGUMENT for a batch that does not fit the plan and ERR_DISPOSED after dispose.
   */
  step(batch: StepBatch): Promise<Float32Array>;
  /**
   * A copy of a kept value of the last step, f32 [rows, width]: of all tokens, or of those in `logitRows` for values made
   * after the rows were selected. `FINAL_HIDDEN` is kept always, others where `CompileOptions.keep` names them.
   * Throws ERR_ARGUMENT for a value that is not kept, and before the first step or while one is under way.
   */
  read(name: string): Float32Array;
  /** Frees everything. Safe at any moment and more than once; a step under way rejects with ERR_DISPOSED. */
  dispose(): Promise<void>;
}

/** Where a plan's weights come from, by the names the plan uses. */
export interface WeightSet {
  matrix(name: string): MatrixSource;
  vector(name: string): Promise<Float32Array>;
}

export interface ExecutorInfo {
  readonly name: "reference" | "wasm" | "native";
  /** The instruction set in use, for example "relaxed-simd". */
  readonly kernel: string;
  readonly threads: number;
  /** Why this one, in a few words, and what was not taken. */
  readonly reason: string;
  readonly rejected: readonly Rejected[];
}

export interface Rejected {
  /** An executor, or one of its kernels: "native", "native amx-int8". */
  readonly kernel: string;
  readonly reason: string;
}

/** An instruction set that an executor has kernels for. */
export interface KernelState {
  readonly name: string;
  /** Why it cannot run here; undefined where it can. */
  readonly unavailable: string | undefined;
}

export interface LoadOptions {
  /** Threads to compute with; the executor's own choice when absent. */
  readonly threads?: number;
  /** Force a kernel by name; ERR_EXECUTOR with the reason when it cannot run here. */
  readonly kernel?: string;
  /** Kernels not to take, by name; ERR_EXECUTOR where none is left. */
  readonly disabled?: readonly string[];
  /** Executors that were not taken: they stand first in `ExecutorInfo.rejected`. */
  readonly rejected?: readonly Rejected[];
  readonly signal?: AbortSignal;
  /** Weight bytes packed so far and in all. */
  readonly onProgress?: (packedBytes: number, totalBytes: number) => void;
}

/** An executor whose threads start while it is not yet known what they will run. */
export interface PreparedExecutor {
  /** As the executor's own, with the options it was prepared with; once. */
  load(plan: Plan, weights: WeightSet): Promise<PlanRunner>;
  /** Ends the threads, whether a load is yet to come, under way (it rejects with ERR_DISPOSED) or done. Never rejects. */
  dispose(): Promise<void>;
}

/** Interprets plans. All executors give the same bits: docs/arithmetic.md. */
export interface Executor {
  readonly name: ExecutorInfo["name"];
  /** Undefined where the executor can run here, else the reason it cannot. */
  unavailable(): Promise<string | undefined>;
  /** Its instruction sets, best first. Only where it is available. */
  kernels(): Promise<readonly KernelState[]>;
  /** Why another executor is faster here though this one can run; undefined where none is. */
  outdone?(): Promise<string | undefined>;
  load(plan: Plan, weights: WeightSet, options?: LoadOptions): Promise<PlanRunner>;
  /** Begins what `load` does that no plan decides, where that takes time. Throws what `load` would throw for the options. */
  prepare?(options?: LoadOptions): Promise<PreparedExecutor>;
}
