import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TokenConstraint } from "../grammar/token-constraint.ts";
import { loadModel, type Model } from "../index.ts";

const file = new URL("../../test/golden/llama-q4_0.gguf", import.meta.url);
const prompt = [5, 77, 130, 9, 42, 201, 8, 15, 99, 310, 4, 61, 7, 7, 19, 250, 33, 12];
const greedy = { maxTokens: 12, ignoreEnd: true } as const;

let model: Model;
beforeAll(async () => {
  model = await loadModel(file, { executor: "wasm", maxSequences: 2, maxWaiting: 1 });
});
afterAll(() => model.dispose());

/** Allows ids that are multiples of a number, a few times. */
class Multiples implements TokenConstraint {
  ended = false;
  readonly taken: number[] = [];
  readonly #of: number;
  readonly #times: number;
  constructor(of: number, times: number) {
    this.#of = of;
    this.#times = times;
  }
  mask(): Uint32Array {
    const words = new Uint32Array(Math.ceil(model.info.vocabularySize / 32));
    for (let id = 0; id < model.info.vocabularySize; id += this.#of) words[id >> 5]! |= 1 << (id & 31);
    return words;
  }
  accept(id: number): void {
    if (id % this.#of) throw new Error("not allowed");
    this.taken.push(id);
    this.ended = this.taken.length === this.#times;
  }
  clone(): TokenConstraint {
    throw new Error("unused");
  }
}

describe("a generation", () => {
  it("tells its tokens with the text they make certain", async () => {
    const answer = model.complete(prompt, greedy);
    let text = "";
    const ids: number[] = [];
    for await (const event of answer.events()) {
      expect(event.tokens.length).toBeGreaterThan(0);
      text += event.text;
      ids.push(...event.tokens.map(({ id }) => id));
    }
    const result = await answer.result;
    expect(text).toBe(result.text);
    expect(ids).toEqual(result.tokens.map(({ id }) => id));
    expect(result.timings.queueMs).toBeGreaterThanOrEqual(0);
  });

  it("joins to one event what a slow consumer has not taken", async () => {
    const answer = model.complete(prompt, greedy);
    const events = answer.events();
    await events.next();
    await answer.result;
    expect((await events.next()).value?.tokens.length).toBeGreaterThan(1);
    expect((await events.next()).done).toBe(true);
  });

  it("gives log-probabilities of its prompt, the same as an answer's, with nothing generated", async () => {
    const { tokens } = await model.complete(prompt, { ...greedy, logprobs: 3 }).result;
    const whole = [...prompt, ...tokens.map(({ id }) => id)];
    const echo = await model.complete(whole, { maxTokens: 0, promptLogprobs: 3 }).result;
    expect(echo).toMatchObject({ text: "", finishReason: "length", tokens: [], usage: { cachedTokens: 0 } });
    expect(echo.promptTokens).toHaveLength(whole.length);
    expect(echo.promptTokens![0]).not.toHaveProperty("logprob");
    expect(echo.promptTokens!.slice(prompt.length)).toEqual(tokens);
    const all = new Int32Array(model.info.contextLength).fill(3);
    expect((await model.complete(all, { maxTokens: 0, promptLogprobs: 0 }).result).promptTokens).toHaveLength(
      all.length,
    );
  });

  it("needs a message to answer", () => {
    expect(() => model.chat([])).toThrow(expect.objectContaining({ code: "ERR_ARGUMENT", place: "messages" }));
  });

  it("takes a constraint once, and only one that was started", async () => {
    const compiled = await model.compileConstraint({ type: "regex", pattern: "[ab]{2}" });
    const constraint = compiled.start();
    const copy = constraint.clone();
    expect((await model.complete(prompt, { constraint, maxTokens: 8 }).result).text).toMatch(/^[ab]{2}$/);
    const refused = (given: object): unknown => {
      try {
        return model.complete(prompt, { constraint: given as TokenConstraint });
      } catch (error) {
        return error;
      }
    };
    for (const given of [constraint, compiled])
      expect(refused(given)).toMatchObject({ code: "ERR_ARGUMENT", place: "constraint" });
    expect((refused(compiled) as Error).message).toContain("start()");
    expect((await model.complete(prompt, { constraint: copy, maxTokens: 8 }).result).text).toMatch(/^[ab]{2}$/);
  });

  it("says only what its constraint allows, sampled and guessed, and ends when that does", async () => {
    for (const temperature of [0, 2]) {
      const constraint = new Multiples(7, 9);
      const { tokens, finishReason } = await model.complete(prompt, {
        maxTokens: 99,
        ignoreEnd: true,
        temperature,
        constraint,
      }).result;
      expect(tokens.map(({ id }) => id)).toEqual(constraint.taken);
      expect([tokens.length, finishReason]).toEqual([9, "stop"]);
    }
  });

  it("is what it is, whatever a draft says or does", async () => {
    const truth = (await model.complete(prompt, greedy).result).text;
    const draft = (propose: () => Promise<ArrayLike<number>>) => ({
      tokenizer: model.tokenizer,
      openDraft: async () => ({ propose, close: () => {} }),
    });
    for (const guess of [[], [1e9, 2], [-1], [1.5], Array(999).fill(3)]) {
      const speculation = { draft: draft(async () => guess) };
      expect((await model.complete(prompt, { ...greedy, speculation }).result).text).toBe(truth);
    }
    const broken = { draft: draft(() => Promise.reject(new Error("no draft"))) };
    const other = model.complete(prompt, greedy).result;
    await expect(model.complete(prompt, { ...greedy, speculation: broken }).result).rejects.toThrow("no draft");
    expect((await other).text).toBe(truth);
    expect(model.stats).toMatchObject({ running: 0, blocksInUse: 0 });
  });

  it("is refused at once when the queue is full, and when it is late", async () => {
    const going = [1, 2, 3].map((id) => model.complete([id, ...prompt], greedy).start());
    expect(model.stats.waiting + model.stats.running).toBe(3);
    const refused = model.complete(prompt, greedy);
    const full = { code: "ERR_QUEUE_FULL", retryAfterMs: expect.any(Number) };
    expect(() => refused.start()).toThrow(expect.objectContaining(full));
    await expect(refused.result).rejects.toMatchObject(full);
    await expect(model.complete(prompt, greedy).result).rejects.toMatchObject(full);
    await Promise.all(going.map(({ result }) => result));
    await expect(model.complete(prompt, { ...greedy, timeoutMs: 0 }).result).rejects.toMatchObject({
      code: "ERR_DEADLINE",
    });
    expect(model.stats).toMatchObject({ running: 0, waiting: 0, blocksInUse: 0 });
  });

  it("is cancelled by its signal before, in the queue and after, and leaves no listener", async () => {
    const abort = new AbortController();
    const answers = [1, 2, 3].map((id) => model.complete([id, ...prompt], { ...greedy, signal: abort.signal }).start());
    abort.abort(new Error("enough"));
    for (const { result } of answers) await expect(result).rejects.toThrow("enough");
    const late = model.complete(prompt, { ...greedy, signal: abort.signal });
    expect(() => late.start()).toThrow("enough");
    expect(model.stats).toMatchObject({ running: 0, waiting: 0 });
    const after = new AbortController();
    const done = model.complete(prompt, { ...greedy, signal: after.signal });
    await done.result;
    after.abort(new Error("too late"));
    expect((await done.result).tokens).toHaveLength(12);
  });

  it.each([
    { promptLogprobs: 21 },
    { timeoutMs: -1 },
    { maxTokens: 0 },
    { speculation: { maxTokens: -1 } },
    { speculation: { draft: { tokenizer: { vocabularySize: 3 } } } },
    { user: 5 },
  ])("cannot have %o", (options) => {
    expect(() => model.complete(prompt, options as never)).toThrow(expect.objectContaining({ code: "ERR_ARGUMENT" }));
  });
});
