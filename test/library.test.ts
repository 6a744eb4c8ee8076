import { readFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadModel, type Model } from "../src/index.ts";

const file = fileURLToPath(new URL("./golden/llama-q4_0.gguf", import.meta.url));
const greedy = { maxTokens: 24, ignoreEnd: true } as const;
const prompt = [5, 77, 130, 9, 42, 201, 8, 15, 99, 310, 4, 61, 7, 7, 19, 250, 33, 12];

/** A small model with a chat template of its own, by the library's front door. */
describe.each(["reference", "wasm"])("the library on the %s executor", (executor) => {
  let model: Model;
  beforeAll(async () => {
    model = await loadModel(new Blob([await readFile(file)]), { executor });
  });
  afterAll(() => model.dispose());
  const ids = async (m: Model, p: ArrayLike<number>, options = {}): Promise<number[]> =>
    (await m.complete(p, { ...greedy, ...options }).result).tokens.map((token) => token.id);

  it("streams the text of its result, with usage and timings at the end", async () => {
    const answer = model.complete(prompt, greedy);
    let text = "";
    for await (const chunk of answer) text += chunk;
    const result = await answer.result;
    expect(result.text).toBe(text);
    expect(result.finishReason).toBe("length");
    expect(result.usage).toMatchObject({ promptTokens: prompt.length, completionTokens: 24 });
    expect(result.timings.firstTokenMs).toBeGreaterThan(0);
  });

  it("gives the same tokens from a fresh cache, a reused one, and among others", async () => {
    const alone = await ids(model, prompt);
    const longer = [...prompt, ...alone.slice(0, 15)];
    const reused = await model.complete(longer, greedy).result;
    expect(reused.usage.cachedTokens).toBe(32); // whole blocks of 16
    expect(reused.tokens.slice(0, 9).map((token) => token.id)).toEqual(alone.slice(15));
    const together = await Promise.all([ids(model, prompt), ids(model, [3, 1, 4]), ids(model, longer)]);
    expect(together[0]).toEqual(alone);
  });

  it("repeats a sampled answer by its seed", async () => {
    const options = { ...greedy, temperature: 1.5 };
    const first = await model.complete(prompt, options).result;
    const again = await model.complete(prompt, { ...options, seed: first.seed }).result;
    expect(again.tokens).toEqual(first.tokens);
    expect(await ids(model, prompt, { temperature: 1.5, seed: first.seed + 1 })).not.toEqual(
      first.tokens.map((token) => token.id),
    );
  });

  it("reports log-probabilities that sum to less than one", async () => {
    const { tokens } = await model.complete(prompt, { maxTokens: 3, ignoreEnd: true, logprobs: 5 }).result;
    for (const { logprob, top } of tokens) {
      expect(top).toHaveLength(5);
      expect(top![0]!.logprob).toBe(logprob);
      expect(top!.reduce((sum, entry) => sum + Math.exp(entry.logprob), 0)).toBeLessThanOrEqual(1);
    }
  });

  it("ends at a stop text, which is not part of the answer", async () => {
    const { text } = await model.complete(prompt, greedy).result;
    const stop = text.slice(10, 13);
    const stopped = await model.complete(prompt, { ...greedy, stop }).result;
    expect(stopped.finishReason).toBe("stop");
    expect(stopped.text).toBe(text.slice(0, text.indexOf(stop)));
  });

  it("stops when the consumer leaves or the signal fires, and can be asked again", async () => {
    const left = model.complete(prompt, greedy);
    for await (const _ of left) break;
    expect((await left.result).finishReason).toBe("cancelled");
    const abort = new AbortController();
    const aborted = model.complete(prompt, { ...greedy, signal: abort.signal });
    await expect(async () => {
      for await (const _ of aborted) abort.abort(new Error("enough"));
    }).rejects.toThrow("enough");
    await expect(aborted.result).rejects.toThrow("enough");
    expect(await ids(model, prompt)).toHaveLength(24);
  });

  it("refuses what cannot be answered, before anything runs", async () => {
    const { contextLength } = model.info;
    expect(() => model.complete(new Int32Array(contextLength))).toThrow(
      expect.objectContaining({
        code: "context_length_exceeded",
        message: expect.stringMatching(new RegExp(`${contextLength} tokens .* ${contextLength}`)),
      }),
    );
    for (const [bad, options] of [
      [[], {}],
      [[-1], {}],
      [[512], {}],
      [[1.5], {}],
      [prompt, { maxTokens: 0 }],
      [prompt, { temperature: -1 }],
      [prompt, { stop: "" }],
      [prompt, { logitBias: { 512: 1 } }],
    ] as const)
      expect(() => model.complete(bad, options)).toThrow(expect.objectContaining({ code: "ERR_ARGUMENT" }));
    const answer = model.complete(prompt, { maxTokens: 1 });
    await answer.result;
    await expect(async () => {
      for await (const _ of answer);
    }).rejects.toThrow(/iterated once/);
  });

  it("ends generations under way when it is disposed, at any moment and more than once", async () => {
    const short = await loadModel(new Blob([await readFile(file)]), { executor });
    const answer = short.complete(prompt, greedy);
    await expect(async () => {
      for await (const _ of answer) void short.dispose();
    }).rejects.toMatchObject({ code: "ERR_DISPOSED" });
    await short.dispose();
    expect(() => short.complete(prompt)).toThrow(expect.objectContaining({ code: "ERR_DISPOSED" }));
  });

  it("says what it could not be loaded from", async () => {
    await expect(loadModel(new TextEncoder().encode("GGUF\x03\0\0\0"), { executor })).rejects.toMatchObject({
      code: "ERR_TRUNCATED",
    });
    await expect(loadModel(new TextEncoder().encode("GGML".repeat(20)), { executor })).rejects.toMatchObject({
      code: "ERR_FORMAT",
    });
    await expect(loadModel("no-such-model")).rejects.toMatchObject({ code: "ERR_UNKNOWN_MODEL" });
    for (const [input, options] of [
      [undefined, {}],
      [new URL("ftp://127.0.0.1/model.gguf"), {}],
      [new Blob([await readFile(file)]), { activations: "a4" }],
      [new Blob([await readFile(file)]), { cacheType: "q8" }],
      [new Blob([await readFile(file)]), { cacheTokens: 1 }],
    ] as unknown as [never, object][])
      await expect(loadModel(input, { executor, ...options })).rejects.toMatchObject({
        code: "ERR_ARGUMENT",
      });
    await expect(loadModel(pathToFileURL(`${file}.absent`), { executor })).rejects.toThrow(/absent/);
    const signal = AbortSignal.abort(new Error("not now"));
    await expect(loadModel(new Blob([await readFile(file)]), { executor, signal })).rejects.toThrow("not now");
  });
});
