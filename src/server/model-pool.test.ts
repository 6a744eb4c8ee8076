import { describe, expect, it } from "vitest";
import type { Model } from "../model.ts";
import { ModelPool, type ServedModel } from "./model-pool.ts";

/** As much of a model as a pool looks at. */
function pretended(name: string, bytes: number, events: string[]): ServedModel {
  const memory = { weightBytes: bytes, cacheBytes: 0, arenaBytes: 0 };
  const stats = { blocksTotal: 0, blockBytes: 0 };
  return {
    name,
    expectedBytes: bytes,
    async load(signal) {
      events.push(`load ${name}`);
      await Promise.resolve();
      signal.throwIfAborted();
      return { memory, stats, dispose: async () => void events.push(`unload ${name}`) } as unknown as Model;
    },
  };
}

describe("a pool of models", () => {
  it("loads a model once, for all who ask", async () => {
    const events: string[] = [];
    const pool = new ModelPool([pretended("a", 1, events)]);
    const leases = await Promise.all([pool.acquire("a"), pool.acquire("a"), pool.acquire("a")]);
    expect(new Set(leases.map(({ model }) => model)).size).toBe(1);
    expect(events).toEqual(["load a"]);
    expect(pool.list()).toMatchObject([{ name: "a", state: "loaded" }]);
  });

  it("unloads the least recently used where memory is bounded, when its requests have ended", async () => {
    const events: string[] = [];
    const models = ["a", "b", "c"].map((name) => pretended(name, 40, events));
    const pool = new ModelPool(models, { memoryBytes: 100 });
    const a = await pool.acquire("a");
    (await pool.acquire("b")).release();
    (await pool.acquire("c")).release();
    expect(events).toEqual(["load a", "load b", "unload b", "load c"]);
    const c = await pool.acquire("c");
    const b = pool.acquire("b");
    await new Promise((resolve) => setImmediate(resolve));
    expect(events).toHaveLength(4);
    a.release();
    a.release();
    (await b).release();
    expect(events.slice(4)).toEqual(["unload a", "load b"]);
    c.release();
  });

  it("serves everybody in turn where there is room for one model only", async () => {
    const events: string[] = [];
    const pool = new ModelPool([pretended("a", 60, events), pretended("b", 60, events)], { memoryBytes: 100 });
    const answered: string[] = [];
    const ask = async (name: string): Promise<void> => {
      const lease = await pool.acquire(name);
      await new Promise((resolve) => setImmediate(resolve));
      answered.push(name);
      lease.release();
    };
    await Promise.all(["a", "b", "a", "b", "b", "a"].map(ask));
    expect(answered.sort()).toEqual(["a", "a", "a", "b", "b", "b"]);
    expect(events.filter((event) => event.startsWith("load"))).toHaveLength(2);
  });

  it("tells what fails, and tries again when asked again", async () => {
    let tries = 0;
    const flaky: ServedModel = {
      name: "flaky",
      load: async (signal) => {
        if (++tries === 1) throw new Error("/some/path is broken");
        return pretended("flaky", 1, []).load(signal);
      },
    };
    const pool = new ModelPool([flaky, pretended("huge", 1000, [])], { memoryBytes: 100 });
    const failure = await pool.acquire("flaky").catch((error) => error);
    expect(failure).toMatchObject({ status: 503, code: "model_load_failed" });
    expect(failure.message).not.toContain("/some/path");
    (await pool.acquire("flaky")).release();
    await expect(pool.acquire("huge")).rejects.toMatchObject({ status: 503, code: "out_of_memory" });
    await expect(pool.acquire("none")).rejects.toMatchObject({ status: 404, code: "model_not_found" });
  });

  it("forgets those who stop waiting", async () => {
    const events: string[] = [];
    const pool = new ModelPool([pretended("a", 60, events), pretended("b", 60, events)], { memoryBytes: 100 });
    const a = await pool.acquire("a");
    const abort = new AbortController();
    const gone = pool.acquire("b", abort.signal);
    abort.abort(new Error("gone"));
    await expect(gone).rejects.toThrow("gone");
    a.release();
    (await pool.acquire("a")).release();
    await pool.unload("a");
    await pool.unload("b");
    expect(pool.list().map(({ state }) => state)).toEqual(["unloaded", "unloaded"]);
    await pool.dispose();
    await expect(pool.acquire("a")).rejects.toMatchObject({ code: "model_load_failed" });
  });
});
