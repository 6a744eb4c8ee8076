import { HalfbyteError } from "../errors.ts";
import { IncrementalDetokenizer } from "../text/incremental-detokenizer.ts";
import { StopMatcher } from "../text/stop-matcher.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import type { Engine } from "./engine.ts";
import type { SamplingOptions } from "./sampling/options.ts";
import { type SampledToken, Sampler } from "./sampling/sampler.ts";

export interface GenerateOptions extends SamplingOptions {
  /** Tokens to generate at most; default: as many as the context has room for. */
  readonly maxTokens?: number;
  /** Texts that end the answer; they are not part of it. */
  readonly stop?: string | readonly string[];
  /** Go on past the model's end tokens. */
  readonly ignoreEnd?: boolean;
  /** The answer is a text of its own and not the prompt's next words: SentencePiece's leading space goes away. */
  readonly startsText?: boolean;
  /** Stops the generation within one step; iterating then throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Why an answer ended: an end token or stop text, the token limit, or the consumer. */
export type FinishReason = "stop" | "length" | "cancelled";

export interface GeneratedToken {
  readonly id: number;
  /** Its own text, by itself: may be part of a character, shown as U+FFFD. */
  readonly text: string;
  readonly logprob?: number;
  readonly top?: readonly { readonly id: number; readonly text: string; readonly logprob: number }[];
}

export interface Usage {
  readonly promptTokens: number;
  /** Of these, how many an earlier generation had left in the cache. */
  readonly cachedTokens: number;
  readonly completionTokens: number;
}

export interface Timings {
  /** From the start of the generation to its first token. */
  readonly firstTokenMs: number;
  /** Prompt tokens computed per second. */
  readonly prefillTokensPerSecond: number;
  /** Tokens after the first, per second; 0 when there is but one. */
  readonly decodeTokensPerSecond: number;
}

export interface GenerationResult {
  readonly text: string;
  readonly finishReason: FinishReason;
  readonly tokens: readonly GeneratedToken[];
  readonly usage: Usage;
  readonly timings: Timings;
  /** The seed that repeats this answer. */
  readonly seed: number;
}

/** What a generation needs of its model. */
export interface GenerationModel {
  readonly engine: Engine;
  readonly tokenizer: Tokenizer;
  readonly contextLength: number;
}

/** The work behind a generation: text as it comes, and at any time what there is of a result. */
interface Run {
  text(): AsyncGenerator<string, void>;
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

  async *[Symbol.asyncIterator](): AsyncGenerator<string, void> {
    if (this.#started)
      throw new HalfbyteError("ERR_ARGUMENT", "a generation can be iterated once", {
        remedy: "await its result, or start another",
      });
    this.#started = true;
    try {
      yield* this.#run.text();
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

  async *text(): AsyncGenerator<string, void> {
    const { engine, tokenizer } = this.#model;
    const { signal, startsText = false } = this.#options;
    const prompt = this.#prompt;
    const detokenizer = new IncrementalDetokenizer(tokenizer, { skipSpecial: true, startsText });
    const history = Array.from(prompt);
    this.#clock.start();
    const sequence = engine.open(prompt);
    this.#cachedTokens = sequence.cached.length;
    try {
      let logits = await engine.feed(sequence, prompt.subarray(this.#cachedTokens), signal);
      for (;;) {
        const id = this.#sample(logits, history);
        const ends = !this.#options.ignoreEnd && tokenizer.endOfGenerationIds.has(id);
        const last = ends || this.#tokens.length >= this.#limit;
        const piece = (ends ? "" : detokenizer.push(id)) + (last ? detokenizer.flush() : "");
        const { text, stop } = this.#stops.push(piece);
        const shown = last && stop === undefined ? text + this.#stops.flush() : text;
        this.#text += shown;
        if (ends || stop !== undefined) this.#finishReason = "stop";
        else if (last) this.#finishReason = "length";
        if (shown) yield shown;
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
      seed: this.#sampler.seed,
    };
  }

  #sample(logits: Float32Array, history: number[]): number {
    const sampled = this.#sampler.sample(logits, { tokens: history, promptLength: this.#prompt.length });
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
      prefillTokensPerSecond: firstTokenMs ? (promptTokens / firstTokenMs) * 1000 : 0,
      decodeTokensPerSecond: completionTokens > 1 ? ((completionTokens - 1) / decodeMs) * 1000 : 0,
    };
  }
}
