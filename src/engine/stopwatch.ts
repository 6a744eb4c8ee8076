import type { Timings } from "./generation-result.ts";

/** Notes when a generation was asked for, began, and gave its first and last token. */
export class Stopwatch {
  #start = 0;
  #begin: number | undefined;
  #first: number | undefined;
  #last = 0;

  start(): void {
    this.#start = performance.now();
  }

  begin(): void {
    this.#begin ??= performance.now();
  }

  token(): void {
    this.#last = performance.now();
    this.#first ??= this.#last;
  }

  timings(computedPromptTokens: number, completionTokens: number): Timings {
    const begin = this.#begin ?? this.#start;
    const first = this.#first ?? begin;
    const prefillMs = first - begin;
    const decodeMs = this.#last - first;
    return {
      firstTokenMs: this.#first === undefined ? 0 : first - this.#start,
      queueMs: begin - this.#start,
      prefillTokensPerSecond: prefillMs > 0 ? (computedPromptTokens / prefillMs) * 1000 : 0,
      decodeTokensPerSecond: completionTokens > 1 && decodeMs > 0 ? ((completionTokens - 1) / decodeMs) * 1000 : 0,
    };
  }
}
