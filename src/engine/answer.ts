import type { Session } from "../session/session.ts";
import { IncrementalDetokenizer } from "../text/incremental-detokenizer.ts";
import { StopMatcher } from "../text/stop-matcher.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import type { Engine } from "./engine.ts";
import { EventStream } from "./event-stream.ts";
import type { CheckedOptions } from "./generate-options.ts";
import type { FinishReason, GeneratedToken, GenerationEvent, GenerationResult } from "./generation-result.ts";
import { PromptLogProbabilities } from "./prompt-log-probabilities.ts";
import { type SampledToken, Sampler } from "./sampling/sampler.ts";
import type { DraftGuesses } from "./speculation/draft-guesses.ts";
import type { DraftModel } from "./speculation/draft-model.ts";
import type { PromptLookup } from "./speculation/prompt-lookup.ts";
import type { RowCosts } from "./speculation/row-costs.ts";
import { Stopwatch } from "./stopwatch.ts";
import type { Ticket, Work } from "./work.ts";

/** What an answer needs of its model. */
export interface AnsweringModel {
  readonly engine: Engine;
  readonly tokenizer: Tokenizer;
  readonly contextLength: number;
}

/** An answer in the engine: chooses tokens, makes them text and finds the end. */
export class Answer implements Work {
  readonly prompt: Int32Array;
  readonly user: string;
  readonly shares: boolean;
  readonly reads: "last" | "every";
  readonly #model: AnsweringModel;
  readonly #options: CheckedOptions;
  readonly #sampler: Sampler;
  readonly #stops: StopMatcher;
  readonly #detokenizer: IncrementalDetokenizer;
  readonly #promptLogProbabilities: PromptLogProbabilities | undefined;
  /** Tokens of the first prompt: after a session was resumed, fewer than `prompt` has. */
  readonly #promptLength: number;
  readonly #history: number[];
  readonly #tokens: GeneratedToken[] = [];
  readonly #stopwatch = new Stopwatch();
  readonly #stream = new EventStream<GenerationResult>();
  #deadline = Number.POSITIVE_INFINITY;
  #ticket: Ticket | undefined;
  #text = "";
  #stop: string | undefined;
  #finishReason: FinishReason = "cancelled";
  #guesser: PromptLookup | DraftGuesses | undefined;
  #guessed = 0;
  #accepted = 0;

  constructor(model: AnsweringModel, prompt: Int32Array, options: CheckedOptions, session?: Session) {
    this.prompt = prompt;
    this.user = options.user;
    this.shares = options.cachePrompt;
    this.reads = options.promptLogprobs === undefined ? "last" : "every";
    this.#model = model;
    this.#options = options;
    this.#sampler = new Sampler(options.sampling);
    this.#stops = new StopMatcher(options.stop);
    this.#detokenizer = new IncrementalDetokenizer(model.tokenizer, {
      skipSpecial: true,
      startsText: options.startsText,
    });
    this.#history = Array.from(prompt);
    this.#promptLength = session?.promptLength ?? prompt.length;
    if (session) {
      this.#sampler.restoreState(session.sampler);
      // A character may have begun before.
      for (const id of prompt.subarray(this.#promptLength)) this.#detokenizer.push(id);
    }
    if (options.promptLogprobs !== undefined)
      this.#promptLogProbabilities = new PromptLogProbabilities(model.tokenizer, prompt, options.promptLogprobs);
  }

  get deadline(): number {
    return this.#deadline;
  }

  get session(): Session {
    const tokens = Int32Array.from(this.#history);
    return { tokens, promptLength: this.#promptLength, sampler: this.#sampler.saveState() };
  }

  get promptTokens(): readonly GeneratedToken[] | undefined {
    return this.#promptLogProbabilities?.tokens;
  }

  get result(): Promise<GenerationResult> {
    return this.#stream.result;
  }

  /** Enters the engine's queue, once. Throws the signal's reason and what `Engine.submit` throws; so does the result. */
  start(): void {
    if (this.#ticket || this.#stream.ended) return;
    const { signal, timeoutMs } = this.#options;
    try {
      signal?.throwIfAborted();
      this.#stopwatch.start();
      if (timeoutMs !== undefined) this.#deadline = performance.now() + timeoutMs;
      this.#ticket = this.#model.engine.submit(this);
      signal?.addEventListener("abort", this.#onAbort);
    } catch (error) {
      this.#stream.fail(error);
      throw error;
    }
  }

  take(): Promise<GenerationEvent | undefined> {
    return this.#stream.take();
  }

  /** Ends it where it is; the result is what there is so far. */
  cancel(): void {
    if (this.#stream.ended) return;
    this.#leave();
    this.#stream.end(this.#result());
  }

  begin(): void {
    this.#stopwatch.begin();
  }

  read(position: number, logits: Float32Array): void {
    this.#promptLogProbabilities!.add(position + 1, logits);
  }

  async guess(most: number, answers: number, costs: RowCosts): Promise<ArrayLike<number>> {
    const { speculation, maxTokens } = this.#options;
    const count = Math.min(most, speculation?.maxTokens ?? most, maxTokens - this.#tokens.length - 1);
    if (!speculation || count < 1) return [];
    this.#guesser ??= await openGuesser(this.#history, speculation.draft, this.#model.tokenizer.vocabularySize);
    if (this.#stream.ended) this.#closeGuesser();
    return this.#guesser.guess(count, answers, costs);
  }

  guessed(count: number, right: number): void {
    this.#guessed += count;
    this.#accepted += right;
  }

  next(logits: Float32Array): number | undefined {
    const { constraint, ignoreEnd, maxTokens } = this.#options;
    if (maxTokens === 0) return this.#finish("length");
    const history = { tokens: this.#history, promptLength: this.#promptLength };
    const sampled = this.#sampler.sample(logits, history, constraint?.mask());
    const { id } = sampled;
    this.#stopwatch.token();
    this.#history.push(id);
    const token = describeToken(this.#model.tokenizer, sampled);
    this.#tokens.push(token);
    const ends = !ignoreEnd && this.#model.tokenizer.endOfGenerationIds.has(id);
    if (!ends) constraint?.accept(id);
    const complete = ends || constraint?.ended === true;
    const last = complete || this.#tokens.length >= maxTokens;
    const piece = (ends ? "" : this.#detokenizer.push(id)) + (last ? this.#detokenizer.flush() : "");
    const { text, stop } = this.#stops.push(piece);
    const shown = last && stop === undefined ? text + this.#stops.flush() : text;
    this.#text += shown;
    this.#stream.push(shown, token);
    this.#stop = stop;
    if (complete || stop !== undefined) return this.#finish("stop");
    return last ? this.#finish("length") : id;
  }

  end(error?: unknown): void {
    this.#unlisten();
    if (error === undefined) this.#stream.end(this.#result());
    else this.#stream.fail(error);
  }

  #finish(reason: FinishReason): undefined {
    this.#finishReason = reason;
    return undefined;
  }

  readonly #onAbort = (): void => {
    this.#leave();
    this.#stream.abort(this.#options.signal!.reason);
  };

  #leave(): void {
    this.#unlisten();
    this.#ticket?.cancel();
  }

  #unlisten(): void {
    this.#closeGuesser();
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
  }

  #closeGuesser(): void {
    if (this.#guesser && "close" in this.#guesser) this.#guesser.close();
  }

  #result(): GenerationResult {
    const promptTokens = this.prompt.length;
    const cachedTokens = this.#ticket?.cachedTokens ?? 0;
    return {
      text: this.#text,
      finishReason: this.#finishReason,
      ...(this.#stop !== undefined && { stop: this.#stop }),
      tokens: this.#tokens,
      ...(this.promptTokens && { promptTokens: this.promptTokens }),
      usage: { promptTokens, cachedTokens, completionTokens: this.#tokens.length },
      timings: this.#stopwatch.timings(promptTokens - cachedTokens, this.#tokens.length),
      speculation: { proposedTokens: this.#guessed, acceptedTokens: this.#accepted },
      seed: this.#sampler.seed,
    };
  }
}

/** Imported when an answer has begun: the first token does not wait for it. */
async function openGuesser(
  tokens: number[],
  draft: DraftModel | undefined,
  vocabularySize: number,
): Promise<PromptLookup | DraftGuesses> {
  if (draft)
    return new (await import("./speculation/draft-guesses.ts")).DraftGuesses(
      tokens,
      await draft.openDraft(),
      vocabularySize,
    );
  return new (await import("./speculation/prompt-lookup.ts")).PromptLookup(tokens);
}

function describeToken(tokenizer: Tokenizer, { id, logprob, top }: SampledToken): GeneratedToken {
  const text = tokenizer.decode([id]);
  if (logprob === undefined) return { id, text };
  return { id, text, logprob, top: (top ?? []).map((entry) => ({ ...entry, text: tokenizer.decode([entry.id]) })) };
}
