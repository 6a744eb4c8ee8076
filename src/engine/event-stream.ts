import type { GeneratedToken, GenerationEvent } from "./generation-result.ts";

/** What one side makes and the other takes at its own pace: what was not taken yet is joined to one event. */
export class EventStream<Result> {
  readonly #settled = withResolvers<Result>();
  #text = "";
  #tokens: GeneratedToken[] = [];
  #ended = false;
  #error: { readonly reason: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor() {
    this.#settled.promise.catch(() => undefined); // not everybody asks
  }

  get result(): Promise<Result> {
    return this.#settled.promise;
  }

  get ended(): boolean {
    return this.#ended;
  }

  push(text: string, token: GeneratedToken): void {
    this.#text += text;
    this.#tokens.push(token);
    this.#wakeUp();
  }

  end(result: Result): void {
    this.#ended = true;
    this.#settled.resolve(result);
    this.#wakeUp();
  }

  /** Ends with an error, which follows what is still to be taken. */
  fail(reason: unknown): void {
    this.#ended = true;
    this.#error = { reason };
    this.#settled.reject(reason);
    this.#wakeUp();
  }

  /** Ends with an error at once: what is still to be taken is dropped. After the end, for the one who takes alone. */
  abort(reason: unknown): void {
    this.#text = "";
    this.#tokens = [];
    this.fail(reason);
  }

  /** The next event, or undefined at the end. Rejects with the error that ended it. */
  async take(): Promise<GenerationEvent | undefined> {
    while (this.#tokens.length === 0) {
      if (this.#error) throw this.#error.reason;
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    const event = { text: this.#text, tokens: this.#tokens };
    this.#text = "";
    this.#tokens = [];
    return event;
  }

  #wakeUp(): void {
    this.#wake?.();
    this.#wake = undefined;
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
