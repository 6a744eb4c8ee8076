import { readFile } from "node:fs/promises";
import { Worker } from "node:worker_threads";
import { cpuBudget } from "../threads-node.ts";
import type { Thread, ThreadEvents } from "./compute-pool.ts";
import type { Platform } from "./platform.ts";
import type { ThreadStart } from "./thread.ts";

export const nodePlatform: Platform = {
  defaultThreads: () => cpuBudget().threads,
  compile: async (binary) => WebAssembly.compile(await readFile(binary)),
  spawnThread({ onMessage, onFailure }: ThreadEvents): Thread {
    // The parent's flags may be a test runner's loaders, of no use here and slow.
    const worker = new Worker(new URL("./build/thread.js", import.meta.url), { execArgv: [] });
    worker.on("message", onMessage);
    worker.on("error", onFailure);
    worker.on("exit", (code) => onFailure(new Error(`worker exited with code ${code}`)));
    // After the listeners, which hold the process.
    worker.unref();
    let ending = false;
    return {
      begin: (start: ThreadStart) => worker.postMessage(start),
      keepAlive: (keep) => {
        if (!ending) keep ? worker.ref() : worker.unref();
      },
      // A worker that does not hold the process would let it end before this settles.
      terminate: async () => {
        ending = true;
        worker.ref();
        await worker.terminate();
      },
    };
  },
};
