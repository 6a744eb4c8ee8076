import { HalfbyteError } from "../errors.ts";
import type { Session } from "../session/session.ts";
import { Answer, type AnsweringModel } from "./answer.ts";
import { checkGenerateOptions, type GenerateOptions } from "./generate-options.ts";
import type { GeneratedToken, GenerationEvent, GenerationResult } from "./generation-result.ts";

/**
 * An answer under way. Iterate it for its text as it comes, then read `result`; or just await `result`. Leaving the loop
 * early cancels it. It enters the queue when it is first asked for text or result, and runs once.
 */
export class Generation implements AsyncIterable<string> {
  readonly #answer: Answer;
  #taken = false;

  /** Made by `Model.chat` and `Model.complete`. */
  constructor(answer: Answer) {
    this.#answer = answer;
  }

  /** Text, usage and timings at the end; rejects as the iteration throws. */
  get result(): Promise<GenerationResult> {
    this.#taken = true;
    try {
      this.#answer.start();
    } catch {
      // The result has it.
    }
    return this.#answer.result;
  }

  /** With `promptLogprobs`, from the first token on: the prompt's tokens, as the result has them. */
  get promptTokens(): readonly GeneratedToken[] | undefined {
    return this.#answer.promptTokens;
  }

  /** All that is needed to go on with this answer from where it is now: for `Model.encodeSession` and `Model.resume`. */
  get session(): Session {
    return this.#answer.session;
  }

  /** Enters the queue now. Throws ERR_QUEUE_FULL when it is full, and the signal's reason. */
  start(): this {
    this.#answer.start();
    return this;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string, void> {
    for await (const { text } of this.events()) if (text) yield text;
  }

  /** Text and tokens as they come; in place of iterating for the text alone. */
  async *events(): AsyncGenerator<GenerationEvent, void> {
    if (this.#taken)
      throw new HalfbyteError("ERR_ARGUMENT", "a generation can be iterated once", {
        remedy: "await its result, or start another",
      });
    this.#taken = true;
    try {
      this.#answer.start();
      for (let event = await this.#answer.take(); event; event = await this.#answer.take()) yield event;
    } finally {
      this.#answer.cancel();
    }
  }
}

/**
 * An answer to a prompt of token ids, not yet started. Throws `context_length_exceeded` when the prompt leaves no room for
 * a token, ERR_ARGUMENT for bad options.
 */
export function generate(model: AnsweringModel, prompt: Int32Array, options: GenerateOptions = {}): Generation {
  return new Generation(new Answer(model, prompt, checkGenerateOptions(model, prompt, options)));
}

/** Goes on with an answer: the tokens are those it would have had. Throws as `generate`, ERR_ARGUMENT for a bad session. */
export function resume(model: AnsweringModel, session: Session, options: GenerateOptions = {}): Generation {
  const checked = checkGenerateOptions(model, session.tokens, { ...options, seed: session.sampler?.seed });
  return new Generation(new Answer(model, session.tokens, checked, session));
}
