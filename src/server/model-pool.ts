import { HalfbyteError } from "../errors.ts";
import type { Model } from "../model.ts";
import { ApiError } from "./api-error.ts";

/** A model that the server may load. */
export interface ServedModel {
  /** What requests call it. */
  readonly name: string;
  readonly load: (signal: AbortSignal) => Promise<Model>;
  /** Memory it will need, as far as that can be told before it is loaded. */
  readonly expectedBytes?: number;
  /** Loaded already: it stays in memory, and is whoever's who made it. */
  readonly kept?: Model;
  /** Seconds since 1970, as `/v1/models` shows it. */
  readonly created?: number;
}

export interface ModelPoolOptions {
  /** Bound on the memory of all loaded models with their caches; the least recently used ones make room. */
  readonly memoryBytes?: number;
}

export interface ModelStatus {
  readonly name: string;
  readonly created: number;
  readonly state: "unloaded" | "loading" | "loaded" | "unloading";
  readonly model: Model | undefined;
}

/** The right to use a model, which stays loaded until it is released. */
export interface Lease {
  readonly model: Model;
  release(): void;
}

interface Entry {
  readonly served: ServedModel;
  readonly created: number;
  state: ModelStatus["state"];
  model: Model | undefined;
  loading: Promise<Model> | undefined;
  leases: number;
  /** Those who wait for the load under way: each has a lease from the moment that it ends. */
  readonly tickets: Set<object>;
  lastUse: number;
  /** Called when the last lease goes. */
  onIdle: (() => void) | undefined;
}

/** Models by name, loaded when they are asked for; the least recently used are unloaded where memory is bounded. */
export class ModelPool {
  readonly #entries: ReadonlyMap<string, Entry>;
  readonly #memoryBytes: number;
  readonly #stop = new AbortController();
  /** Loading and unloading, one after the other: what fits is decided once for each. */
  #turn: Promise<unknown> = Promise.resolve();
  #uses = 0;

  constructor(models: readonly ServedModel[], { memoryBytes = Infinity }: ModelPoolOptions = {}) {
    const created = Math.floor(Date.now() / 1000);
    this.#entries = new Map(
      models.map((served) => [
        served.name,
        {
          served,
          created: served.created ?? created,
          state: served.kept ? "loaded" : "unloaded",
          model: served.kept,
          loading: undefined,
          leases: 0,
          tickets: new Set<object>(),
          lastUse: 0,
          onIdle: undefined,
        },
      ]),
    );
    if (this.#entries.size !== models.length)
      throw new HalfbyteError("ERR_ARGUMENT", "two models have the same name", { place: "models" });
    this.#memoryBytes = memoryBytes;
  }

  /** A pool of models that are loaded already, and stay so: whoever loaded them disposes them. */
  static of(...models: readonly Model[]): ModelPool {
    return new ModelPool(models.map((model) => ({ name: model.info.name, load: async () => model, kept: model })));
  }

  get names(): string[] {
    return [...this.#entries.keys()];
  }

  list(): ModelStatus[] {
    return [...this.#entries.values()].map(({ served, created, state, model }) => ({
      name: served.name,
      created,
      state,
      model,
    }));
  }

  /**
   * Loads the model where that is needed, and holds it until the lease is released.
   *
   * Throws 404 `model_not_found`, 503 `model_load_failed`, 503 `out_of_memory` for one that can never fit; the signal's
   * reason when aborted.
   */
  async acquire(name: string, signal?: AbortSignal): Promise<Lease> {
    const entry = this.#entry(name);
    if (entry.state === "loaded") {
      entry.leases++;
      return this.#lease(entry);
    }
    const ticket = {};
    entry.tickets.add(ticket);
    try {
      await orAborted(this.#load(entry), signal);
      return this.#lease(entry);
    } catch (error) {
      if (!entry.tickets.delete(ticket)) this.#release(entry);
      throw error;
    }
  }

  async load(name: string, signal?: AbortSignal): Promise<void> {
    (await this.acquire(name, signal)).release();
  }

  /** Unloads a model when the requests under way on it have ended, and resolves when its memory is free. Throws 400 for one that is kept. */
  async unload(name: string): Promise<void> {
    const entry = this.#entry(name);
    if (entry.served.kept)
      throw new ApiError(400, "invalid_value", `The model '${name}' stays loaded.`, { param: "model" });
    await this.#exclusive(() => this.#unload(entry));
  }

  /** Ends everything: loads under way are aborted, and loaded models disposed, with whatever still runs on them. */
  async dispose(): Promise<void> {
    this.#stop.abort(new HalfbyteError("ERR_DISPOSED", "the server stops"));
    for (const entry of this.#entries.values()) entry.onIdle?.();
    await this.#turn;
    await Promise.all([...this.#entries.values()].map((entry) => this.#dispose(entry)));
  }

  #entry(name: string): Entry {
    const entry = this.#entries.get(name);
    if (entry) return entry;
    throw new ApiError(404, "model_not_found", `The model '${name.slice(0, 200)}' does not exist here.`, {
      param: "model",
    });
  }

  #lease(entry: Entry): Lease {
    entry.lastUse = ++this.#uses;
    let held = true;
    const release = (): void => {
      if (held) this.#release(entry);
      held = false;
    };
    return { model: entry.model!, release };
  }

  #release(entry: Entry): void {
    if (--entry.leases === 0) entry.onIdle?.();
  }

  #load(entry: Entry): Promise<Model> {
    entry.loading ??= this.#exclusive(async () => {
      try {
        await this.#makeRoom(entry.served);
        entry.state = "loading";
        this.#stop.signal.throwIfAborted();
        entry.model = await entry.served.load(this.#stop.signal);
        entry.state = "loaded";
        entry.leases += entry.tickets.size;
        entry.tickets.clear();
        return entry.model;
      } catch (error) {
        entry.state = "unloaded";
        if (error instanceof ApiError) throw error;
        throw new ApiError(503, "model_load_failed", `The model '${entry.served.name}' could not be loaded.`, {
          cause: error,
        });
      } finally {
        entry.loading = undefined;
      }
    });
    return entry.loading;
  }

  /** Unloads the least recently used models until the expected memory of another fits. */
  async #makeRoom({ name, expectedBytes = 0 }: ServedModel): Promise<void> {
    if (expectedBytes > this.#memoryBytes)
      throw new ApiError(503, "out_of_memory", `The model '${name}' needs more memory than models may have here.`);
    for (;;) {
      const loaded = [...this.#entries.values()].filter(({ model, served }) => model && !served.kept);
      const inUse = loaded.reduce((sum, { model }) => sum + modelBytes(model!), 0);
      if (inUse + expectedBytes <= this.#memoryBytes || loaded.length === 0) return;
      const idleFirst = loaded.sort((a, b) => Number(a.leases > 0) - Number(b.leases > 0) || a.lastUse - b.lastUse);
      await this.#unload(idleFirst[0]!);
    }
  }

  async #unload(entry: Entry): Promise<void> {
    if (!entry.model) return;
    entry.state = "unloading";
    if (entry.leases > 0)
      await new Promise<void>((resolve) => {
        entry.onIdle = resolve;
      });
    entry.onIdle = undefined;
    await this.#dispose(entry);
  }

  async #dispose(entry: Entry): Promise<void> {
    const { model } = entry;
    entry.model = undefined;
    entry.state = "unloaded";
    if (!entry.served.kept) await model?.dispose();
  }

  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }
}

/** Weights, and the cache at the size that it may grow to. */
function modelBytes({ memory, stats }: Model): number {
  return memory.weightBytes + stats.blocksTotal * stats.blockBytes;
}

async function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  promise.catch(() => {}); // it may fail when nobody waits any more
  signal.throwIfAborted();
  let onAbort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
