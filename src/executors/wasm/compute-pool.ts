import { HalfbyteError } from "../../errors.ts";
import { COMMAND, CONTROL, type Command } from "./control.ts";
import type { ThreadStart } from "./thread.ts";

/** The threads that compute on an executor's memory. */
export interface ComputePool {
  readonly threads: number;
  /** Whether the work is done on the calling thread. */
  readonly inline: boolean;
  /** Runs a command, whose arguments stand in the control area, on all threads. One at a time. */
  run(command: Exclude<Command, "stop">): Promise<void>;
  /** Ends the threads at once; a command under way rejects with ERR_DISPOSED. Safe to call twice. */
  dispose(): Promise<void>;
}

export interface ThreadEvents {
  readonly onMessage: (message: unknown) => void;
  readonly onFailure: (cause: unknown) => void;
}

/** A worker, whichever environment it runs in. */
export interface Thread {
  /** Hands the thread its work; once, at any time. */
  begin(start: ThreadStart): void;
  /** Keeps the process alive, or not, until the thread ends. */
  keepAlive(keep: boolean): void;
  terminate(): Promise<void>;
}

export type SpawnThread = (events: ThreadEvents) => Thread;

interface Waiting {
  resolve(): void;
  reject(error: unknown): void;
}

const disposed = (): HalfbyteError => new HalfbyteError("ERR_DISPOSED", "the model was disposed");

/**
 * Workers that start at once, begin when there is a memory to work on, and sleep on it between commands; the last to
 * finish a command says so by a message.
 */
export class WorkerPool implements ComputePool {
  readonly threads: number;
  readonly inline = false;
  #control: Int32Array | undefined;
  readonly #workers: Thread[];
  readonly #ready: Promise<void>;
  #waiting: Waiting | undefined;
  #failure: unknown;

  constructor(threads: number, spawn: SpawnThread) {
    this.threads = threads;
    let starting = threads;
    this.#ready = new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
    this.#ready.catch(() => {});
    const onMessage = (message: unknown): void => {
      if (message === "done" || --starting === 0) this.#settle((waiting) => waiting.resolve());
    };
    const onFailure = (cause: unknown): void => {
      if (this.#failure !== undefined) return;
      this.#end(new HalfbyteError("ERR_EXECUTOR", "a compute thread ended unexpectedly", { cause }));
    };
    this.#workers = Array.from({ length: threads }, () => spawn({ onMessage, onFailure }));
  }

  /** Gives the workers their kernels and memory; once, before any command. */
  begin(module: WebAssembly.Module, memory: WebAssembly.Memory): void {
    this.#control = new Int32Array(memory.buffer, 0, 256);
    const { threads } = this;
    this.#workers.forEach((worker, thread) => {
      worker.begin({
        module,
        memory,
        thread,
        threads,
        startWord: CONTROL.start / 4,
        commandWord: CONTROL.command / 4,
        epochWord: CONTROL.epoch / 4,
        stepCommand: COMMAND.step,
        packCommand: COMMAND.pack,
      });
    });
  }

  /** Resolves when all threads have begun; rejects with what ended them, if something did. */
  async ready(): Promise<void> {
    this.#workers[0]!.keepAlive(true);
    try {
      await this.#ready;
    } finally {
      this.#workers[0]!.keepAlive(false);
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  async run(command: Exclude<Command, "stop">): Promise<void> {
    await this.ready();
    this.#workers[0]!.keepAlive(true);
    try {
      await new Promise<void>((resolve, reject) => {
        this.#waiting = { resolve, reject };
        this.#control![CONTROL.finished / 4] = 0;
        this.#start(command);
      });
    } finally {
      this.#workers[0]!.keepAlive(false);
    }
  }

  async dispose(): Promise<void> {
    if (this.#failure === undefined) this.#end(disposed());
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }

  #start(command: Command): void {
    const control = this.#control;
    if (!control) return;
    control[CONTROL.command / 4] = COMMAND[command];
    Atomics.add(control, CONTROL.start / 4, 1);
    Atomics.notify(control, CONTROL.start / 4);
  }

  /** Threads in the middle of a command may wait for one that is gone: all must go. */
  #end(failure: HalfbyteError): void {
    this.#failure = failure;
    this.#start("stop");
    for (const worker of this.#workers) worker.terminate().catch(() => {});
    this.#settle((waiting) => waiting.reject(failure));
  }

  #settle(settle: (waiting: Waiting) => void): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting) settle(waiting);
  }
}

interface Kernels {
  step(thread: number, threads: number): number;
  pack(threads: number): number;
}

/** The calling thread does the work: where there are no workers, or no memory to share with them. */
export class InlinePool implements ComputePool {
  readonly threads = 1;
  readonly inline = true;
  readonly #kernels: Kernels;
  #disposed = false;

  constructor(module: WebAssembly.Module, memory: WebAssembly.Memory) {
    this.#kernels = new WebAssembly.Instance(module, { env: { memory } }).exports as unknown as Kernels;
  }

  async run(command: Exclude<Command, "stop">): Promise<void> {
    if (command === "step") await nextTask();
    if (this.#disposed) throw disposed();
    if (command === "step") this.#kernels.step(0, 1);
    else this.#kernels.pack(1);
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
  }
}

/** Lets other tasks of the thread run; setTimeout would wait 4 ms in browsers. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}
