// The program of a compute thread, in Node and in the browser. tools/build-wasm.mjs makes build/thread.js of it, a file
// that workers can load beside the TypeScript sources; it imports nothing of the project, so that the one file is all.

/** What a pool hands a thread to begin with. */
export interface ThreadStart {
  readonly module: WebAssembly.Module;
  readonly memory: WebAssembly.Memory;
  readonly thread: number;
  readonly threads: number;
  /** Indices of words of the control area, and the commands. */
  readonly startWord: number;
  readonly commandWord: number;
  readonly epochWord: number;
  readonly stepCommand: number;
  readonly packCommand: number;
}

interface Kernels {
  step(thread: number, threads: number): number;
  pack(threads: number): number;
}

const CONTROL_WORDS = 128;
/** A wake that is lost costs no more than this. */
const LONGEST_SLEEP_MS = 1;

function work(start: ThreadStart, post: (message: string) => void): void {
  const { module, memory, thread, threads } = start;
  const control = new Int32Array(memory.buffer, 0, CONTROL_WORDS);
  const sleep = (epoch: number): unknown => Atomics.wait(control, start.epochWord, epoch, LONGEST_SLEEP_MS);
  const wake = (): unknown => Atomics.notify(control, start.epochWord);
  const { exports } = new WebAssembly.Instance(module, { env: { memory, sleep, wake } });
  const kernels = exports as unknown as Kernels;
  post("ready");
  for (let seen = 0; ; seen++) {
    while (Atomics.load(control, start.startWord) === seen) Atomics.wait(control, start.startWord, seen);
    const command = control[start.commandWord];
    if (command === start.stepCommand) {
      if (kernels.step(thread, threads)) post("done");
    } else if (command === start.packCommand) {
      if (kernels.pack(threads)) post("done");
    } else return;
  }
}

if (typeof process !== "undefined" && process.versions?.node) {
  const { parentPort } = await import("node:worker_threads");
  parentPort!.once("message", (start: ThreadStart) => work(start, (message) => parentPort!.postMessage(message)));
} else {
  self.onmessage = (event: MessageEvent<ThreadStart>) => work(event.data, (message) => self.postMessage(message));
}
