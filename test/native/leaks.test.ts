import { readdir, readFile } from "node:fs/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { nativeExecutor } from "../../src/executors/native/native-executor.ts";
import { loadModel } from "../../src/index.ts";

const missing = await nativeExecutor.unavailable();
const LOADS = 1000;
/** Until then pools of the allocator, the collector and compiled code have their size. */
const WARM_UP = 200;
/** One load holds about 3 MB; what is lost of each 100 bytes or more a load would show. */
const SLACK_BYTES = 24e6;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

async function residentBytes(): Promise<number> {
  // Buffers of the addon are freed by finalizers, which run as tasks after a collection.
  for (let i = 0; i < 3; i++) {
    collect();
    await new Promise(setImmediate);
  }
  return process.memoryUsage.rss();
}

const openFiles = async (): Promise<number> => (await readdir("/proc/self/fd").catch(() => [])).length;
const threads = async (): Promise<number> => (await readdir("/proc/self/task").catch(() => [])).length;

describe.skipIf(missing ?? process.env.HALFBYTE_SANITIZED)(
  "a thousand loads and disposals on the native executor",
  () => {
    it("leave memory, threads and files as they were, disposed in a step or out of it", async () => {
      const bytes = new Uint8Array(await readFile(new URL("../golden/llama-q4_0.gguf", import.meta.url)));
      const prompt = Int32Array.of(1, 2, 3, 4, 5);
      const once = async (round: number): Promise<void> => {
        const model = await loadModel(bytes, { executor: "native", threads: 2 });
        const answer = model.complete(prompt, { maxTokens: 4, ignoreEnd: true });
        const ended = answer.result.then(
          () => "whole",
          (error) => error.code,
        );
        if (round % 3 === 1) await new Promise(setImmediate);
        if (round % 3 === 2) await ended;
        await model.dispose();
        expect(["whole", "ERR_DISPOSED"]).toContain(await ended);
      };
      for (let i = 0; i < WARM_UP; i++) await once(i);
      const before = { bytes: await residentBytes(), files: await openFiles(), threads: await threads() };
      for (let i = WARM_UP; i < LOADS; i++) await once(i);
      expect(await threads()).toBeLessThanOrEqual(before.threads);
      expect(await openFiles()).toBeLessThanOrEqual(before.files);
      const grown = (await residentBytes()) - before.bytes;
      console.log(`${LOADS - WARM_UP} loads: resident memory ${(grown / 1e6).toFixed(1)} MB more`);
      expect(grown).toBeLessThan(SLACK_BYTES);
    }, 300_000);
  },
);
