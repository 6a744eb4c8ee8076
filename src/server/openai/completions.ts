import * as v from "valibot";
import { interleaved } from "../../chat/answer.ts";
import { choiceOptions } from "../../chat/conversation.ts";
import type { Generation } from "../../engine/generation.ts";
import type { GeneratedToken, GenerationEvent, GenerationResult } from "../../engine/generation-result.ts";
import type { Model } from "../../model.ts";
import { ApiError, toApiError } from "../api-error.ts";
import {
  demand,
  ignored,
  integer,
  MAX_CHOICES,
  modelName,
  object,
  optional,
  samplingFields,
  samplingOptions,
} from "../fields.ts";
import { newId } from "../new-id.ts";
import { bodyOf, type Call, eventResponse, json, type Route } from "../route.ts";
import { DONE, type ServerEvent } from "../sse.ts";
import { type LogprobsBody, logprobsSchema, TextLogprobs } from "./text-logprobs.ts";
import { usageBody, usageSchema } from "./usage.ts";

/** Prompts of one request, and answers to them all; lm-eval sends some dozens. */
const MAX_PROMPTS = 256;
/** OpenAI's default. */
const DEFAULT_MAX_TOKENS = 16;

const tokenIds = v.pipe(v.array(integer(0)), v.minLength(1));
const requestSchema = object({
  model: modelName,
  prompt: v.union([
    v.string(),
    tokenIds,
    v.pipe(v.array(v.string()), v.minLength(1), v.maxLength(MAX_PROMPTS)),
    v.pipe(v.array(tokenIds), v.minLength(1), v.maxLength(MAX_PROMPTS)),
  ]),
  ...samplingFields,
  max_tokens: optional(integer(0)),
  n: optional(integer(1, MAX_CHOICES)),
  best_of: optional(integer(1, MAX_CHOICES)),
  logprobs: optional(integer(0, 20)),
  echo: optional(v.boolean()),
  suffix: v.nullish(v.null()),
  stream: optional(v.boolean()),
  stream_options: optional(
    object({ include_usage: optional(v.boolean()), include_obfuscation: optional(v.boolean()) }),
  ),
  metadata: ignored,
});
type Body = v.InferOutput<typeof requestSchema>;

const choiceSchema = v.object({
  index: v.number(),
  text: v.string(),
  logprobs: v.nullable(logprobsSchema),
  finish_reason: v.nullable(v.picklist(["stop", "length"])),
});
type Choice = v.InferOutput<typeof choiceSchema>;
const responseSchema = v.object({
  id: v.string(),
  object: v.literal("text_completion"),
  created: v.number(),
  model: v.string(),
  choices: v.array(choiceSchema),
  usage: usageSchema,
});

export const completions: Route = {
  method: "POST",
  path: "/v1/completions",
  tag: "OpenAI",
  summary: "Goes on from texts or token ids.",
  body: requestSchema,
  response: responseSchema,
  streams: true,
  prompt: "prompt",
  async handle(call) {
    const body = await bodyOf(call, requestSchema);
    checkBody(body);
    const model = await call.scope.lease(call.state.pool, body.model);
    const prompts = promptsOf(body);
    const started = prompts.flatMap((prompt, index) => {
      try {
        return startChoices(call, model, body, prompt);
      } catch (error) {
        throw Array.isArray(body.prompt) && typeof body.prompt[0] !== "number" ? ofPrompt(index, error) : error;
      }
    });
    for (const { generation } of started) generation.start();
    if (body.stream) return eventResponse(call, streamChoices(call, model, body, started));
    return json(await whole(call, model, body, started));
  },
};

function checkBody(body: Body): void {
  demand(!body.stream_options || body.stream === true, "stream_options", "'stream_options' needs 'stream' to be true.");
  demand((body.best_of ?? body.n ?? 1) >= (body.n ?? 1), "best_of", "'best_of' must not be below 'n'.");
  demand(!body.stream || (body.best_of ?? 1) <= (body.n ?? 1), "best_of", "'best_of' cannot be streamed.");
  const answers = promptsOf(body).length * (body.best_of ?? body.n ?? 1);
  demand(answers <= MAX_PROMPTS, "n", `A request may ask for ${MAX_PROMPTS} answers, all its prompts together.`);
  demand(body.max_tokens !== 0 || body.echo === true, "max_tokens", "'max_tokens' of 0 needs 'echo'.");
}

function promptsOf({ prompt }: Body): readonly (string | readonly number[])[] {
  if (typeof prompt === "string") return [prompt];
  return typeof prompt[0] === "number" ? [prompt as number[]] : (prompt as string[] | number[][]);
}

/** What is wrong with one of several prompts. */
function ofPrompt(index: number, cause: unknown): ApiError {
  const error = toApiError(cause, "prompt");
  const param = error.param?.replace(/^prompt/, `prompt[${index}]`);
  return new ApiError(error.status, error.code, error.message, { cause, param });
}

interface Started {
  /** What an echo shows: the prompt without a beginning token that the client did not send. */
  readonly echo: Int32Array;
  readonly promptLength: number;
  readonly generation: Generation;
}

function startChoices({ scope, state }: Call, model: Model, body: Body, asked: string | readonly number[]): Started[] {
  const { tokenizer } = model;
  const prompt = typeof asked === "string" ? tokenizer.encode(asked) : Int32Array.from(asked);
  const added = typeof asked === "string" && tokenizer.addBosByDefault && prompt[0] === tokenizer.bosId;
  const echo = body.echo ? prompt.subarray(added ? 1 : 0) : new Int32Array(0);
  const options = samplingOptions(body);
  const logprobs = body.logprobs ?? undefined;
  return Array.from({ length: body.best_of ?? body.n ?? 1 }, (_, index) => ({
    echo,
    promptLength: prompt.length,
    generation: model.complete(prompt, {
      ...choiceOptions(options, index),
      maxTokens: body.max_tokens ?? DEFAULT_MAX_TOKENS,
      // Choosing the best needs to know how likely each was.
      logprobs: logprobs ?? (body.best_of ? 0 : undefined),
      // Reading a prompt alone is asked for by its log-probabilities.
      ...(body.echo && (logprobs !== undefined || body.max_tokens === 0) && { promptLogprobs: logprobs ?? 0 }),
      signal: scope.branch(),
      timeoutMs: state.limits.timeoutMs,
    }),
  }));
}

async function whole(call: Call, model: Model, body: Body, started: readonly Started[]): Promise<object> {
  const results = await Promise.all(started.map((each) => drain(call, model, each)));
  const perPrompt = body.best_of ?? body.n ?? 1;
  const choices: Choice[] = [];
  const usages = { prompt: 0, cached: 0, completion: 0 };
  for (let first = 0; first < results.length; first += perPrompt) {
    const own = results.slice(first, first + perPrompt);
    usages.prompt += own[0]!.usage.promptTokens;
    usages.cached += own[0]!.usage.cachedTokens;
    for (const { usage } of own) usages.completion += usage.completionTokens;
    if (body.best_of) own.sort((a, b) => meanLogprob(b.tokens) - meanLogprob(a.tokens));
    for (const result of own.slice(0, body.n ?? 1))
      choices.push({
        index: choices.length,
        text: model.tokenizer.decode(started[first]!.echo) + result.text,
        logprobs: wantsLogprobs(body) ? logprobsOf(model, started[first]!, result) : null,
        finish_reason: result.finishReason === "stop" ? "stop" : "length",
      });
  }
  const usage = usageBody([
    { promptTokens: usages.prompt, cachedTokens: usages.cached, completionTokens: usages.completion },
  ]);
  return { ...head(body), choices, usage } satisfies v.InferOutput<typeof responseSchema>;
}

async function drain(call: Call, model: Model, started: Started): Promise<GenerationResult> {
  for await (const _ of tracked(call, model, started));
  return started.generation.result;
}

function tracked(
  { state }: Call,
  { info }: Model,
  { generation, promptLength }: Started,
): AsyncIterable<GenerationEvent> {
  return state.metrics.track(info.name, generation.events(), () => generation.result, promptLength);
}

async function* streamChoices(
  call: Call,
  model: Model,
  body: Body,
  started: readonly Started[],
): AsyncGenerator<ServerEvent, void> {
  const common = head(body);
  const withUsage = body.stream_options?.include_usage === true;
  const chunk = (choice: Choice): ServerEvent => ({
    data: { ...common, choices: [choice], ...(withUsage && { usage: null }) },
  });
  const logprobs = started.map(() => (wantsLogprobs(body) ? new TextLogprobs(model.tokenizer) : undefined));
  const events = started.map((each) => tracked(call, model, each));
  const unsaid = new Set(body.echo ? started.keys() : []);
  const echoed = function* (index: number): Generator<ServerEvent, void> {
    if (!unsaid.delete(index)) return;
    const { echo, generation } = started[index]!;
    const text = model.tokenizer.decode(echo);
    const shown = logprobs[index]?.take(echoedTokens(started[index]!, generation.promptTokens)) ?? null;
    yield chunk({ index, text, logprobs: shown, finish_reason: null });
  };
  // With log-probabilities it has to wait until the prompt has been read.
  if (!wantsLogprobs(body)) for (const index of started.keys()) yield* echoed(index);
  for await (const [index, { text, tokens }] of interleaved(events)) {
    yield* echoed(index);
    if (text || logprobs[index])
      yield chunk({ index, text, logprobs: logprobs[index]?.take(tokens) ?? null, finish_reason: null });
  }
  for (const index of started.keys()) yield* echoed(index);
  const results = await Promise.all(started.map(({ generation }) => generation.result));
  for (const [index, { finishReason }] of results.entries())
    yield chunk({ index, text: "", logprobs: null, finish_reason: finishReason === "stop" ? "stop" : "length" });
  if (withUsage) {
    const perPrompt = body.n ?? 1;
    const prompts = results.filter((_, index) => index % perPrompt === 0);
    const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);
    const usage = usageBody([
      {
        promptTokens: sum(prompts.map((each) => each.usage.promptTokens)),
        cachedTokens: sum(prompts.map((each) => each.usage.cachedTokens)),
        completionTokens: sum(results.map((each) => each.usage.completionTokens)),
      },
    ]);
    yield { data: { ...common, choices: [], usage } };
  }
  yield { data: DONE };
}

function wantsLogprobs({ logprobs }: Body): boolean {
  return logprobs !== null && logprobs !== undefined;
}

function logprobsOf(model: Model, started: Started, { promptTokens, tokens }: GenerationResult): LogprobsBody {
  return new TextLogprobs(model.tokenizer).take([...echoedTokens(started, promptTokens), ...tokens]);
}

function echoedTokens(
  { echo, promptLength }: Started,
  promptTokens: readonly GeneratedToken[] = [],
): readonly GeneratedToken[] {
  return promptTokens.slice(promptLength - echo.length);
}

function meanLogprob(tokens: readonly GeneratedToken[]): number {
  return tokens.reduce((sum, { logprob = 0 }) => sum + logprob, 0) / Math.max(1, tokens.length);
}

function head({ model }: Body): { id: string; object: "text_completion"; created: number; model: string } {
  return { id: newId("cmpl-"), object: "text_completion", created: Math.floor(Date.now() / 1000), model };
}
