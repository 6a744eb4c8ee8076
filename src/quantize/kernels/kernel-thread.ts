import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import { HalfbyteError } from "../../errors.ts";
import { addonCandidates } from "../../executors/native/addon-candidates.ts";
import type { KernelJob } from "./kernel-pool.ts";

const BINARY = new URL("../../executors/wasm/build/halfbyte-quantizer.wasm", import.meta.url);

/**
 * All that a thread does: it imports nothing of the project, so that it needs no file of its own. Where the native addon is
 * there, it adds products of inputs, which is most of the work; it gives the same bits.
 */
const PROGRAM = `
  const { parentPort, workerData: { module, memory, addon } } = require("node:worker_threads");
  const exports = { ...new WebAssembly.Instance(module, { env: { memory } }).exports };
  if (addon) {
    const { addGram } = require(addon);
    exports.addGram = (...args) => addGram(new Uint8Array(memory.buffer), ...args);
  }
  parentPort.on("message", (job) => {
    let result = 0;
    for (const [name, ...args] of job) result = exports[name](...args);
    parentPort.postMessage(Number(result ?? 0));
  });
`;

export interface KernelThread {
  /** One at a time. */
  run(job: KernelJob): Promise<number>;
  end(): Promise<void>;
}

export async function compileKernels(): Promise<WebAssembly.Module> {
  try {
    return await WebAssembly.compile(await readFile(BINARY));
  } catch (cause) {
    throw new HalfbyteError("ERR_EXECUTOR", "cannot load the quantiser's kernels", {
      place: BINARY.href,
      remedy: "in a source tree, npm run build:wasm makes them",
      cause,
    });
  }
}

/** The file of the native addon, where there is one that has the quantiser's kernel. */
export function findAddon(): string | undefined {
  const require = createRequire(import.meta.url);
  for (const { place } of addonCandidates()) {
    try {
      if (typeof require(place).addGram === "function") return require.resolve(place);
    } catch {
      // Another may load; without any, WebAssembly does all.
    }
  }
  return undefined;
}

export function startThread(
  module: WebAssembly.Module,
  memory: WebAssembly.Memory,
  addon: string | undefined,
): KernelThread {
  const worker = new Worker(PROGRAM, { eval: true, execArgv: [], workerData: { module, memory, addon } });
  let waiting: { resolve(result: number): void; reject(error: unknown): void } | undefined;
  let failure: unknown;
  const fail = (error: unknown): void => {
    failure ??= error;
    waiting?.reject(failure);
    waiting = undefined;
  };
  worker.on("message", (result: number) => {
    const { resolve } = waiting!;
    waiting = undefined;
    worker.unref();
    resolve(result);
  });
  worker.on("error", (cause) => fail(new HalfbyteError("ERR_EXECUTOR", "a thread of the quantiser failed", { cause })));
  worker.on("exit", () => fail(new HalfbyteError("ERR_DISPOSED", "the quantiser was stopped")));
  worker.unref();
  return {
    run: (job) =>
      new Promise((resolve, reject) => {
        if (failure !== undefined) return reject(failure);
        waiting = { resolve, reject };
        worker.ref();
        worker.postMessage(job);
      }),
    async end() {
      await worker.terminate();
    },
  };
}
