import { HalfbyteError } from "../errors.ts";
import type { AnsweringModel } from "./answer.ts";
import { EventStream } from "./event-stream.ts";
import type { Ticket, Work } from "./work.ts";

export interface EmbedOptions {
  /** Stops within one step; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** As in `GenerateOptions`. */
  readonly user?: string;
  readonly timeoutMs?: number;
}

export interface Embedding {
  /** Mean of the last hidden states, f32 [hidden]; its length is not scaled. */
  readonly vector: Float32Array;
  readonly promptTokens: number;
}

/**
 * The mean over a text's tokens of their last hidden states, after the last norm. The sum goes in order of position in
 * f64 and is rounded once, so that it does not depend on where the text was cut.
 */
class EmbeddingWork implements Work {
  readonly prompt: Int32Array;
  readonly user: string;
  readonly deadline: number;
  readonly shares = false;
  readonly reads = "hidden";
  readonly #stream = new EventStream<Embedding>();
  #sum = new Float64Array(0);

  constructor(prompt: Int32Array, { user = "", timeoutMs = Number.POSITIVE_INFINITY }: EmbedOptions) {
    this.prompt = prompt;
    this.user = user;
    this.deadline = performance.now() + timeoutMs;
  }

  get result(): Promise<Embedding> {
    return this.#stream.result;
  }

  readHidden(_position: number, states: Float32Array, width: number): void {
    if (this.#sum.length === 0) this.#sum = new Float64Array(width);
    for (let i = 0; i < states.length; i++) this.#sum[i % width]! += states[i]!;
  }

  next(): undefined {
    return undefined;
  }

  end(error?: unknown): void {
    if (error !== undefined) {
      this.#stream.fail(error);
      return;
    }
    const vector = Float32Array.from(this.#sum, (sum) => sum / this.prompt.length);
    if (vector.every(Number.isFinite)) this.#stream.end({ vector, promptTokens: this.prompt.length });
    else this.#stream.fail(new HalfbyteError("ERR_NON_FINITE", "the model's hidden states are not finite"));
  }

  fail(reason: unknown): void {
    this.#stream.fail(reason);
  }
}

/** Embeds all prompts, or none: where one fails the others are given up. Throws as `Model.embed`. */
export async function embed(
  { engine, contextLength }: AnsweringModel,
  prompts: readonly Int32Array[],
  options: EmbedOptions = {},
): Promise<Embedding[]> {
  const { signal } = options;
  signal?.throwIfAborted();
  prompts.forEach((prompt, i) => {
    if (prompt.length === 0)
      throw new HalfbyteError("ERR_ARGUMENT", "the input is empty", { place: `inputs[${i}]`, expected: "a token" });
    if (prompt.length > contextLength)
      throw new HalfbyteError(
        "context_length_exceeded",
        `the input has ${prompt.length} tokens and the context holds ${contextLength}`,
        { place: `inputs[${i}]`, remedy: "shorten it" },
      );
  });
  const works = prompts.map((prompt) => new EmbeddingWork(prompt, options));
  const tickets: Ticket[] = [];
  const abort = (): void => {
    for (const work of works) work.fail(signal!.reason);
  };
  signal?.addEventListener("abort", abort);
  try {
    for (const work of works) tickets.push(engine.submit(work));
    return await Promise.all(works.map(({ result }) => result));
  } finally {
    signal?.removeEventListener("abort", abort);
    for (const ticket of tickets) ticket.cancel();
  }
}
