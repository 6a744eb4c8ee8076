import { HalfbyteError } from "../../errors.ts";
import { KernelMemory } from "../../executors/wasm/kernel-memory.ts";
import type { KernelThread } from "./kernel-thread.ts";

/** A call of a kernel of wasm/quantizer/main.ts; addresses are in bytes. */
export type KernelCall = readonly [name: string, ...args: number[]];

/** Calls that follow each other on one thread. */
export type KernelJob = readonly KernelCall[];

const ALIGNMENT = 64;
/** Room is taken in steps, so that the memory grows seldom. */
const FIRST_BYTES: number = 1024 * 1024;

/** The quantiser's kernels on threads that share one memory. Room in it is taken and given back as on a stack. */
export class KernelPool {
  readonly #memory: KernelMemory;
  readonly #threads: readonly KernelThread[];
  #end: number = ALIGNMENT * 64;
  #running = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(memory: KernelMemory, threads: readonly KernelThread[]) {
    this.#memory = memory;
    this.#threads = threads;
  }

  /**
   * Kernels on `threads` threads of their own; native ones where they are, unless `native` is false. Throws ERR_EXECUTOR
   * where the binary is not there.
   */
  static async create(threads: number, native = true): Promise<KernelPool> {
    const { compileKernels, findAddon, startThread } = await import("./kernel-thread.ts");
    const memory = KernelMemory.allocate(FIRST_BYTES, true);
    const module = await compileKernels();
    const addon = native ? findAddon() : undefined;
    return new KernelPool(
      memory,
      Array.from({ length: threads }, () => startThread(module, memory.memory, addon)),
    );
  }

  get threads(): number {
    return this.#threads.length;
  }

  /** Address of `bytes` bytes, with no meaning yet. Views made before may be on the memory of before. Throws ERR_MEMORY. */
  take(bytes: number): number {
    const at = this.#end;
    this.#end = Math.ceil((at + bytes) / ALIGNMENT) * ALIGNMENT;
    this.#memory.ensure(this.#end + ALIGNMENT);
    return at;
  }

  mark(): number {
    return this.#end;
  }

  /** Gives back all that was taken since the mark. */
  release(mark: number): void {
    this.#end = mark;
  }

  floats(at: number, length: number): Float32Array {
    return new Float32Array(this.#memory.memory.buffer, at, length);
  }

  doubles(at: number, length: number): Float64Array {
    return new Float64Array(this.#memory.memory.buffer, at, length);
  }

  bytes(at: number, length: number): Uint8Array {
    return new Uint8Array(this.#memory.memory.buffer, at, length);
  }

  /** Copies numbers to room of their own. */
  put(values: Float32Array | Int32Array): number {
    const at = this.take(values.byteLength);
    const View = values.constructor as new (buffer: ArrayBufferLike, at: number, length: number) => typeof values;
    new View(this.#memory.memory.buffer, at, values.length).set(values);
    return at;
  }

  /** Runs `work` when what was asked for before is done: room is taken and given back as on a stack. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work, work);
    this.#last = result.catch(() => {});
    return result;
  }

  /** Runs the jobs in any order, on all threads; resolves to what the last call of each returned. One run at a time. */
  async run(jobs: readonly KernelJob[]): Promise<number[]> {
    if (this.#running) throw new HalfbyteError("ERR_ARGUMENT", "one run of kernels at a time");
    this.#running = true;
    try {
      const results: number[] = [];
      let next = 0;
      const work = async (thread: KernelThread): Promise<void> => {
        for (let at = next++; at < jobs.length; at = next++) results[at] = await thread.run(jobs[at]!);
      };
      await Promise.all(this.#threads.map(work));
      return results;
    } finally {
      this.#running = false;
    }
  }

  /** Ends the threads; a run under way rejects with ERR_DISPOSED. */
  async dispose(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.end()));
  }
}
