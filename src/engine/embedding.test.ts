import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadModel, type Model } from "../index.ts";

const file = new Blob([await readFile(new URL("../../test/golden/llama-q4_0.gguf", import.meta.url))]);
const texts = [[5, 77, 130, 9, 42, 201, 8, 15], [3], Array.from({ length: 45 }, (_, i) => (i * 37) % 500)];

describe.each(["reference", "wasm"])("embeddings on the %s executor", (executor) => {
  let model: Model;
  beforeAll(async () => {
    model = await loadModel(file, { executor });
  });
  afterAll(() => model.dispose());

  it("are the same alone, together, beside answers and however texts are cut", async () => {
    const [together] = await Promise.all([model.embed(texts), model.complete([1, 2, 3], { maxTokens: 20 }).result]);
    const narrow = await loadModel(file, { executor, stepTokens: 7 });
    for (const [i, text] of texts.entries()) {
      const [alone] = await narrow.embed([text]);
      expect(alone).toEqual(together[i]);
      expect(alone!.promptTokens).toBe(text.length);
    }
    await narrow.dispose();
    expect(together[0]!.vector.every(Number.isFinite)).toBe(true);
    expect(together[0]!.vector).not.toEqual(together[1]!.vector);
  });

  it("refuse what is empty, too long or late, and are left at once", async () => {
    await expect(model.embed([[1], []])).rejects.toMatchObject({ code: "ERR_ARGUMENT", place: "inputs[1]" });
    await expect(model.embed([new Int32Array(model.info.contextLength + 1)])).rejects.toMatchObject({
      code: "context_length_exceeded",
    });
    await expect(model.embed(texts, { timeoutMs: 0 })).rejects.toMatchObject({ code: "ERR_DEADLINE" });
    await expect(model.embed(texts, { signal: AbortSignal.abort(new Error("no")) })).rejects.toThrow("no");
    const abort = new AbortController();
    const left = model.embed(texts, { signal: abort.signal });
    queueMicrotask(() => abort.abort(new Error("enough")));
    await expect(left).rejects.toThrow("enough");
    expect(model.stats).toMatchObject({ running: 0, waiting: 0 });
  });
});
