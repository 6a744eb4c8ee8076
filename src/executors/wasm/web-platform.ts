import type { Thread, ThreadEvents } from "./compute-pool.ts";
import type { Platform } from "./platform.ts";
import type { ThreadStart } from "./thread.ts";

/** More threads than this rarely help a phone's or laptop's memory, and leave nothing for the page. */
const MOST_THREADS = 8;

export const webPlatform: Platform = {
  defaultThreads: () => Math.min(MOST_THREADS, globalThis.navigator?.hardwareConcurrency ?? 1),
  async compile(binary) {
    const response = await fetch(binary);
    if (!response.ok) throw new Error(`${binary}: HTTP status ${response.status}`);
    // Servers that do not know wasm's media type break compileStreaming; the files are small.
    return WebAssembly.compile(await response.arrayBuffer());
  },
  spawnThread({ onMessage, onFailure }: ThreadEvents): Thread {
    const worker = new Worker(new URL("./build/thread.js", import.meta.url), { type: "module" });
    worker.onmessage = (event) => onMessage(event.data);
    worker.onerror = (event) => onFailure(new Error(event.message || "worker failed"));
    return {
      begin: (start: ThreadStart) => worker.postMessage(start),
      keepAlive() {},
      terminate: async () => worker.terminate(),
    };
  },
};
