import { HalfbyteError } from "../errors.ts";
import { IncrementalDetokenizer } from "../text/incremental-detokenizer.ts";
import { StopMatcher } from "../text/stop-matcher.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import type { Engine } from "./engine.ts";
import type { GenerateOptions } from "./generate-options.ts";
import type { FinishReason, GeneratedToken, GenerationEvent, GenerationResult, Timings } from "./generation-result.ts";
import { type SampledToken, Sampler } from "./sampling/sampler.ts";

/** What a generation needs of its model. */
export interface GenerationModel {
  readonly engine: Engine;
  readonly tokenizer: Tokenizer;
  readonly contextLength: number;
}

/** The work behind a generation: events as they come, and at any time what there is of a result. */
interface Run {
  events(): AsyncGenerator<GenerationEvent, void>;
  result(): GenerationResult;
}

/**
 * An answer under way. Iterate it for its text as it comes, then read `result`; or just await `result`. Leaving the loop
 * early cancels it. It starts when it is first asked for text or result, and runs once.
 */
export class Generation implements AsyncIterable<string> {
  readonly #run: Run;
  readonly #settled: PromiseWithResolvers<GenerationResult> = withResolvers();
  #started = false;

  constructor(run: Run) {
    this.#run = run;
    this.#settled.promise.catch(() => undefined);
  }

  /** Text, usage and timings at the end; rejects as the iteration throws. */
  get result(): Promise<GenerationResult> {
    if (!this.#started) void this.#drain();
    return this.#settled.promise;
  }

  /** Enters the queue now; iterating or asking for the result would do so. Throws ERR_QUEUE_FULL. */
  start(): this {
    return this;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string, void> {
    for await (const { text } of this.events()) if (text) yield text;
  }

  /** Text and tokens as they come: the same iteration with more to see. Once, and instead of iterating for the text. */
  async *events(): AsyncGenerator<GenerationEvent, void> {
    if (this.#started)
      throw new HalfbyteError("ERR_ARGUMENT", "a generation can be iterated once", {
        remedy: "await its result, or start another",
      });
    this.#started = true;
    try {
      yield* this.#run.events();
    } catch (error) {
      this.#settled.reject(error);
      throw error;
    } finally {
      this.#settled.resolve(this.#run.result());
    }
  }

  async #drain(): Promise<void> {
    try {
      for await (const _ of this);
    } catch {
      // `result` has it.
    }
  }
}

/** Promise.withResolvers, which Node 20 lacks. */
function withResolvers<T>(): PromiseWithResolvers<T> {
  let resolve!: PromiseWithResolvers<T>["resolve"];
  let reject!: PromiseWithResolvers<T>["reject"];
  const promise = new Promise<T>((a, b) => {
    resolve = a;
    reject = b;
  });
  return { promise, resolve, reject };
}

/**
 * Starts an answer to a prompt of token ids. Throws at once, before anything runs: `context_length_exceeded` when the
 * prompt leaves no room for a token, ERR_ARGUMENT for bad options.
 */
export function generate(model: GenerationModel, prompt: Int32Array, options: GenerateOptions = {}): Generation {
  const { contextLength } = model;
  if (prompt.length === 0)
    throw new HalfbyteError("ERR_ARGUMENT", "the prompt is empty", { expected: "at least one token" });
  if (prompt.length >= contextLength)
    throw new HalfbyteError(
      "context_length_exceeded",
      `the prompt has ${prompt.length} tokens and the context holds ${contextLength}`,
      { place: "prompt", remedy: "shorten the prompt: at least one token must be left for the answer" },
    );
  const { maxTokens = Number.MAX_SAFE_INTEGER } = options;
  if (!Number.isSafeInteger(maxTokens) || maxTokens < 1)
    throw new HalfbyteError("ERR_ARGUMENT", "bad token limit", {
      place: "maxTokens",
      expected: "an integer from 1",
      got: String(maxTokens),
    });
  const sampler = new Sampler({ ...options, temperature: options.temperature ?? 0 });
  for (const id of sampler.options.logitBias.keys())
    if (id >= model.tokenizer.vocabularySize)
      throw new HalfbyteError("ERR_ARGUMENT", "no such token", {
        place: "logitBias",
        expected: `ids below ${model.tokenizer.vocabularySize}`,
        got: String(id),
      });
  const stop = typeof options.stop === "string" ? [options.stop] : (options.stop ?? []);
  const stops = new StopMatcher(stop);
  const limit = Math.min(maxTokens, contextLength - prompt.length);
  return new Generation(new EngineRun(model, prompt, options, sampler, stops, limit));
}

class EngineRun implements Run {
  readonly #model: GenerationModel;
  readonly #prompt: Int32Array;
  readonly #options: GenerateOptions;
  readonly #sampler: Sampler;
  readonly #stops: StopMatcher;
  readonly #limit: number;
  readonly #tokens: GeneratedToken[] = [];
  readonly #clock = new Clock();
  #text = "";
  #cachedTokens = 0;
  #finishReason: FinishReason = "cancelled";

  constructor(
    model: GenerationModel,
    prompt: Int32Array,
    options: GenerateOptions,
    sampler: Sampler,
    stops: StopMatcher,
    limit: number,
  ) {
    this.#model = model;
    this.#prompt = prompt;
    this.#options = options;
    this.#sampler = sampler;
    this.#stops = stops;
    this.#limit = limit;
  }

  async *events(): AsyncGenerator<GenerationEvent, void> {
    const { engine, tokenizer } = this.#model;
    const { startsText = false, timeoutMs, constraint } = this.#options;
    const deadline = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)];
    const signal = AbortSignal.any([...(this.#options.signal ? [this.#options.signal] : []), ...deadline]);
    const prompt = this.#prompt;
    const detokenizer = new IncrementalDetokenizer(tokenizer, { skipSpecial: true, startsText });
    const history = Array.from(prompt);
    this.#clock.start();
    const sequence = engine.open(prompt);
    this.#cachedTokens = sequence.cached.length;
    try {
      let logits = await engine.feed(sequence, prompt.subarray(this.#cachedTokens), signal);
      for (;;) {
        const id = this.#sample(logits, history, constraint?.mask());
        const ends = !this.#options.ignoreEnd && tokenizer.endOfGenerationIds.has(id);
        const last = ends || this.#tokens.length >= this.#limit;
        const piece = (ends ? "" : detokenizer.push(id)) + (last ? detokenizer.flush() : "");
        const { text, stop } = this.#stops.push(piece);
        const shown = last && stop === undefined ? text + this.#stops.flush() : text;
        this.#text += shown;
        if (ends || stop !== undefined) this.#finishReason = "stop";
        else if (last) this.#finishReason = "length";
        constraint?.accept(id);
        yield { text: shown, tokens: this.#tokens.slice(-1) };
        if (last || stop !== undefined) return;
        logits = await engine.feed(sequence, [id], signal);
      }
    } finally {
      engine.close(sequence);
    }
  }

  result(): GenerationResult {
    const promptTokens = this.#prompt.length;
    const completionTokens = this.#tokens.length;
    return {
      text: this.#text,
      finishReason: this.#finishReason,
      tokens: this.#tokens,
      usage: { promptTokens, cachedTokens: this.#cachedTokens, completionTokens },
      timings: this.#clock.timings(promptTokens - this.#cachedTokens, completionTokens),
      speculation: { proposedTokens: 0, acceptedTokens: 0 },
      seed: this.#sampler.seed,
    };
  }

  #sample(logits: Float32Array, history: number[], allowed: Uint32Array | undefined): number {
    const sampled = this.#sampler.sample(logits, { tokens: history, promptLength: this.#prompt.length }, allowed);
    this.#clock.token();
    history.push(sampled.id);
    this.#tokens.push(describeToken(this.#model.tokenizer, sampled));
    return sampled.id;
  }
}

function describeToken(tokenizer: Tokenizer, { id, logprob, top }: SampledToken): GeneratedToken {
  const text = tokenizer.decode([id]);
  if (logprob === undefined) return { id, text };
  return { id, text, logprob, top: (top ?? []).map((entry) => ({ ...entry, text: tokenizer.decode([entry.id]) })) };
}

class Clock {
  #start = 0;
  #first = 0;
  #last = 0;

  start(): void {
    this.#start = performance.now();
  }

  token(): void {
    this.#last = performance.now();
    this.#first ||= this.#last;
  }

  timings(promptTokens: number, completionTokens: number): Timings {
    const firstTokenMs = this.#first ? this.#first - this.#start : 0;
    const decodeMs = this.#last - this.#first;
    return {
      firstTokenMs,
      queueMs: 0,
      prefillTokensPerSecond: firstTokenMs ? (promptTokens / firstTokenMs) * 1000 : 0,
      decodeTokensPerSecond: completionTokens > 1 ? ((completionTokens - 1) / decodeMs) * 1000 : 0,
    };
  }
}
