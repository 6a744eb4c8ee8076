import * as v from "valibot";
import { type Answer, type AnswerEnd, startAnswers } from "../../chat/answer.ts";
import type { Model } from "../../model.ts";
import { type ApiError, refuseFormat } from "../api-error.ts";
import { newId } from "../new-id.ts";
import { answerContext, bodyOf, eventResponse, json, type Route } from "../route.ts";
import type { ServerEvent } from "../sse.ts";
import { chatLogprobs } from "./chat-logprobs.ts";
import { type OutputEvent, type OutputItem, ResponseOutput } from "./response-output.ts";
import { type ResponsesRequest, responsesRequestSchema } from "./responses-request.ts";

const outputItem = v.looseObject({ type: v.picklist(["reasoning", "message", "function_call"]), id: v.string() });
const responseSchema = v.looseObject({
  id: v.string(),
  object: v.literal("response"),
  created_at: v.number(),
  status: v.picklist(["in_progress", "completed", "incomplete"]),
  model: v.string(),
  output: v.array(outputItem),
  incomplete_details: v.nullable(v.object({ reason: v.literal("max_output_tokens") })),
  usage: v.nullable(
    v.object({
      input_tokens: v.number(),
      input_tokens_details: v.object({ cached_tokens: v.number() }),
      output_tokens: v.number(),
      output_tokens_details: v.object({ reasoning_tokens: v.number() }),
      total_tokens: v.number(),
    }),
  ),
});
type ResponseBody = v.InferOutput<typeof responseSchema>;

export const responses: Route = {
  method: "POST",
  path: "/v1/responses",
  tag: "OpenAI",
  summary: "Answers a conversation, in items. Nothing is stored.",
  body: responsesRequestSchema,
  response: responseSchema,
  streams: true,
  prompt: "input",
  async handle(call) {
    const request = await bodyOf(call, responsesRequestSchema);
    const model = await call.scope.lease(call.state.pool, request.model);
    const answers = startAnswers(answerContext(call), model, request.conversation);
    const [answer] = await answers.catch(refuseFormat("text.format"));
    const stream = new ResponseStream(request, model, answer!);
    if (request.stream) return eventResponse(call, stream.events(), (error) => stream.error(error));
    return json(await stream.whole());
  },
};

class ResponseStream {
  readonly #request: ResponsesRequest;
  readonly #answer: Answer;
  readonly #output: ResponseOutput;
  readonly #head: { readonly id: string; readonly created_at: number };
  #number = 0;

  constructor(request: ResponsesRequest, { tokenizer }: Model, answer: Answer) {
    this.#request = request;
    this.#answer = answer;
    this.#output = new ResponseOutput((tokens) => (request.logprobs ? chatLogprobs(tokenizer, tokens) : []));
    this.#head = { id: newId("resp_"), created_at: Math.floor(Date.now() / 1000) };
  }

  async *events(): AsyncGenerator<ServerEvent, void> {
    const begun = this.#body("in_progress", []);
    yield this.#event({ type: "response.created", response: begun });
    yield this.#event({ type: "response.in_progress", response: begun });
    for await (const { parts, tokens } of this.#answer.events)
      for (const event of this.#output.add(parts, tokens)) yield this.#event(event);
    const end = await this.#answer.end();
    const status = statusOf(end);
    for (const event of this.#output.end(status)) yield this.#event(event);
    yield this.#event({ type: `response.${status}`, response: this.#body(status, this.#output.items, end) });
  }

  async whole(): Promise<ResponseBody> {
    let last: ServerEvent | undefined;
    for await (const event of this.events()) last = event;
    return (last!.data as { response: ResponseBody }).response;
  }

  error({ code, message, param }: ApiError): ServerEvent {
    return this.#event({ type: "error", code, message, param: param ?? null });
  }

  #event(event: OutputEvent): ServerEvent {
    return { event: event.type, data: { ...event, sequence_number: this.#number++ } };
  }

  #body(status: ResponseBody["status"], output: readonly OutputItem[], end?: AnswerEnd): ResponseBody {
    return {
      ...this.#head,
      object: "response",
      status,
      model: this.#request.model,
      output: [...output],
      incomplete_details: status === "incomplete" ? { reason: "max_output_tokens" } : null,
      usage: end ? usageOf(end) : null,
      ...this.#request.shown,
      error: null,
      background: false,
      previous_response_id: null,
      store: false,
      truncation: "disabled",
      service_tier: "default",
    };
  }
}

function statusOf({ reason }: AnswerEnd): "completed" | "incomplete" {
  return reason === "length" ? "incomplete" : "completed";
}

function usageOf({ result, reasoningTokens }: AnswerEnd): NonNullable<ResponseBody["usage"]> {
  const { promptTokens, cachedTokens, completionTokens } = result.usage;
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cachedTokens },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: promptTokens + completionTokens,
  };
}
