import type { GenerationEvent, GenerationResult } from "../engine/generation-result.ts";
import type { EngineStatistics } from "../engine/statistics.ts";
import type { ModelPool } from "./model-pool.ts";
import { type Counter, type Histogram, Registry } from "./prometheus.ts";

const SECONDS = [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
const TOKENS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000];

const MODEL = ["model_name"];

/**
 * What `/metrics` tells. Names that vLLM has are vLLM's (its documentation, "Production Metrics"), so that dashboards
 * made for it work; what it has no name for begins with `halfbyte_`.
 */
export class ServerMetrics {
  readonly #registry = new Registry();
  readonly #pool: ModelPool;
  readonly #firstToken: Histogram;
  readonly #interToken: Histogram;
  readonly #latency: Histogram;
  readonly #queue: Histogram;
  readonly #promptTokens: Histogram;
  readonly #generationTokens: Histogram;
  readonly #prompted: Counter;
  readonly #generated: Counter;
  readonly #success: Counter;
  readonly #responses: Counter;
  #inFlight = 0;

  constructor(pool: ModelPool) {
    this.#pool = pool;
    const registry = this.#registry;
    const histogram = (name: string, help: string, bounds: readonly number[]): Histogram =>
      registry.histogram(name, help, bounds, MODEL);
    this.#firstToken = histogram(
      "vllm:time_to_first_token_seconds",
      "Time to the first token, queue included.",
      SECONDS,
    );
    this.#interToken = histogram("vllm:inter_token_latency_seconds", "Time between tokens of an answer.", SECONDS);
    this.#latency = histogram("vllm:e2e_request_latency_seconds", "Time of a generation, queue included.", SECONDS);
    this.#queue = histogram("vllm:request_queue_time_seconds", "Time in the queue.", SECONDS);
    this.#promptTokens = histogram("vllm:request_prompt_tokens", "Tokens of prompts.", TOKENS);
    this.#generationTokens = histogram("vllm:request_generation_tokens", "Tokens of answers.", TOKENS);
    this.#prompted = registry.counter("vllm:prompt_tokens_total", "Prompt tokens, also those from the cache.", MODEL);
    this.#generated = registry.counter("vllm:generation_tokens_total", "Tokens generated.", MODEL);
    this.#success = registry.counter("vllm:request_success_total", "Generations that ended, by reason.", [
      ...MODEL,
      "finished_reason",
    ]);
    this.#responses = registry.counter("halfbyte_http_responses_total", "Responses, by route and status.", [
      "method",
      "route",
      "status",
    ]);
    this.#observeEngines();
    this.#observeServer();
  }

  render(): string {
    return this.#registry.render();
  }

  requestStarted(): void {
    this.#inFlight++;
  }

  requestEnded(method: string, route: string, status: number): void {
    this.#inFlight--;
    this.#responses.add(1, method, route, String(status));
  }

  /** Counts the tokens of a prompt, those from the cache among them. */
  promptRead(model: string, tokens: number): void {
    this.#prompted.add(tokens, model);
  }

  /** Passes the events of a generation through, and takes its times. */
  async *track(
    model: string,
    events: AsyncIterable<GenerationEvent>,
    result: () => Promise<GenerationResult>,
    promptTokens: number,
  ): AsyncGenerator<GenerationEvent, void> {
    const start = performance.now();
    let last = 0;
    for await (const event of events) {
      const now = performance.now();
      const { length } = event.tokens;
      this.#generated.add(length, model);
      if (last === 0) {
        this.promptRead(model, promptTokens);
        this.#firstToken.observe((now - start) / 1000, model);
      } else for (let i = 0; i < length; i++) this.#interToken.observe((now - last) / 1000 / length, model);
      last = now;
      yield event;
    }
    const { usage, timings, finishReason } = await result();
    // The prompt was read for its own sake.
    if (last === 0 && finishReason === "length") this.promptRead(model, promptTokens);
    this.#latency.observe((performance.now() - start) / 1000, model);
    this.#queue.observe(timings.queueMs / 1000, model);
    this.#promptTokens.observe(usage.promptTokens, model);
    this.#generationTokens.observe(usage.completionTokens, model);
    this.#success.add(1, model, finishReason);
  }

  #observeEngines(): void {
    const each = (type: "gauge" | "counter", name: string, help: string, read: (s: EngineStatistics) => number): void =>
      this.#registry.observed(type, name, help, MODEL, () =>
        this.#pool.list().flatMap(({ name, model }) => (model ? [[[name], read(model.stats)] as const] : [])),
      );
    each("gauge", "vllm:num_requests_running", "Generations that have a turn in every step.", (s) => s.running);
    each("gauge", "vllm:num_requests_waiting", "Generations in the queue.", (s) => s.waiting);
    each(
      "gauge",
      "vllm:kv_cache_usage_perc",
      "Part of the cache in use, 0 to 1.",
      (s) => s.blocksInUse / s.blocksTotal,
    );
    each("counter", "vllm:num_preemptions_total", "Generations put back for want of cache.", (s) => s.preemptions);
    each("counter", "halfbyte_prompt_tokens_computed_total", "Prompt tokens computed.", (s) => s.promptTokensComputed);
    each("counter", "vllm:prefix_cache_queries_total", "Prompt tokens looked up.", (s) => s.prefixQueryTokens);
    each("counter", "vllm:prefix_cache_hits_total", "Prompt tokens found in the cache.", (s) => s.prefixHitTokens);
    each("counter", "vllm:spec_decode_num_draft_tokens_total", "Tokens guessed ahead.", (s) => s.draftTokens);
    each("counter", "vllm:spec_decode_num_accepted_tokens_total", "Guesses that held.", (s) => s.acceptedDraftTokens);
    each("counter", "halfbyte_engine_steps_total", "Steps computed.", (s) => s.steps);
    each("counter", "halfbyte_generations_failed_total", "Generations that ended with an error.", (s) => s.failed);
    each(
      "gauge",
      "halfbyte_kv_cache_kept_perc",
      "Part of the cache kept for reuse, 0 to 1.",
      (s) => s.blocksCached / s.blocksTotal,
    );
  }

  #observeServer(): void {
    const gauge = (name: string, help: string, labels: readonly string[], read: () => [string[], number][]): void =>
      this.#registry.observed("gauge", name, help, labels, read);
    gauge("halfbyte_http_requests_in_flight", "Requests under way.", [], () => [[[], this.#inFlight]]);
    gauge("halfbyte_model_loaded", "1 for a model in memory, else 0.", MODEL, () =>
      this.#pool.list().map(({ name, state }) => [[name], Number(state === "loaded")]),
    );
    gauge("halfbyte_model_memory_bytes", "Memory of a model.", [...MODEL, "kind"], () =>
      this.#pool.list().flatMap(({ name, model }) =>
        model
          ? [
              [[name, "weights"], model.memory.weightBytes],
              [[name, "cache"], model.memory.cacheBytes],
              [[name, "arena"], model.memory.arenaBytes],
            ]
          : [],
      ),
    );
    const memory = globalThis.process?.memoryUsage;
    if (memory) gauge("process_resident_memory_bytes", "Resident memory.", [], () => [[[], memory.rss()]]);
  }
}
