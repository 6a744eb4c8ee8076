import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { PreparedExecutor } from "./executors/executor.ts";
import { referenceExecutor } from "./executors/reference/reference.ts";
import type { ByteSource } from "./formats/byte-source.ts";
import { openGguf } from "./formats/gguf/open-gguf.ts";
import { memorySource } from "./formats/memory-source.ts";
import { loadGguf } from "./load-model.ts";
import { withExecutor } from "./with-executor.ts";

const bytes = readFileSync(new URL("../test/golden/llama-q4_0.gguf", import.meta.url));
const tokens = (await openGguf(memorySource(bytes))).metadata.entry("tokenizer.ggml.tokens") as { offset: number };

interface Watched {
  readonly events: string[];
  readonly source: ByteSource;
  readonly executor: PreparedExecutor;
}

/**
 * The reference executor, which takes here until the tokens are read, and a file, with a log of what is done to them;
 * what `fail` names fails.
 */
function watch(fail?: "tokens" | "weights"): Watched {
  const events: string[] = [];
  const memory = memorySource(bytes);
  let tokensRead = (): void => {};
  const untilTokensAreRead = new Promise<void>((resolve) => (tokensRead = resolve));
  const log = async (event: string): Promise<void> => {
    events.push(event);
    if (event === fail) throw new Error(`no ${event}`);
  };
  const source: ByteSource = {
    name: "tiny.gguf",
    size: memory.size,
    async readInto(offset, target) {
      if (offset === tokens.offset) {
        tokensRead();
        await log("tokens");
      }
      await memory.readInto(offset, target);
    },
    close: () => log("close"),
  };
  const executor: PreparedExecutor = {
    async load(plan, weights) {
      await log("weights");
      await untilTokensAreRead;
      const runner = await referenceExecutor.load(plan, weights);
      events.push("loaded");
      return Object.assign(runner, { dispose: () => log("dispose runner") });
    },
    dispose: () => log("dispose executor"),
  };
  return { events, source, executor };
}

describe("loading a model", () => {
  it("begins with the weights, and makes the tokenizer while they load", async () => {
    const { events, source, executor } = watch();
    const model = await loadGguf(source, executor);
    expect(events).toEqual(["weights", "tokens", "loaded"]);
    expect(model.info.name).toBe("tiny.gguf");
    await model.dispose();
    expect(events.slice(3)).toEqual(["dispose runner", "close"]);
  });

  it("leaves nothing behind where the tokenizer cannot be made, and closes the file last", async () => {
    const { events, source, executor } = watch("tokens");
    await expect(loadGguf(source, executor)).rejects.toThrow("no tokens");
    expect(events.slice(0, 2)).toEqual(["weights", "tokens"]);
    expect(events.slice(2).sort()).toEqual(["close", "dispose executor", "dispose runner", "loaded"]);
    expect(events.at(-1)).toBe("close");
  });

  it("leaves nothing behind where the weights cannot be loaded", async () => {
    const { events, source, executor } = watch("weights");
    await expect(loadGguf(source, executor)).rejects.toThrow("no weights");
    expect(events.at(-1)).toBe("close");
    expect(events).toContain("dispose executor");
  });
});

describe("the executor of a model to come", () => {
  it("is refused before anything is looked for", async () => {
    const find = async (): Promise<never> => expect.unreachable();
    await expect(withExecutor({ executor: "gpu" }, find)).rejects.toMatchObject({ code: "ERR_EXECUTOR" });
    await expect(withExecutor({ executor: "wasm", threads: 0 }, find)).rejects.toMatchObject({ code: "ERR_ARGUMENT" });
    await expect(withExecutor({ signal: AbortSignal.abort() }, find)).rejects.toMatchObject({ name: "AbortError" });
  });

  it("ends where no model is found", async () => {
    let executor: PreparedExecutor | undefined;
    const found = withExecutor({ executor: "wasm", threads: 1 }, async (prepared) => {
      executor = prepared;
      throw new Error("no model");
    });
    await expect(found).rejects.toThrow("no model");
    const { source, executor: watched } = watch();
    const load: PreparedExecutor["load"] = (plan, weights) => executor!.load(plan, weights);
    await expect(loadGguf(source, { ...watched, load })).rejects.toMatchObject({ code: "ERR_DISPOSED" });
  });
});
