import * as v from "valibot";
import { type Answer, type AnswerEnd, completeAnswer, startAnswers } from "../../chat/answer.ts";
import type { AnswerPart } from "../../chat/answer-reader.ts";
import { dialectOf } from "../../chat/dialect.ts";
import type { Model } from "../../model.ts";
import { anthropicErrorBody } from "../api-error.ts";
import { newId } from "../new-id.ts";
import { answerContext, bodyOf, eventResponse, json, type Route } from "../route.ts";
import type { ServerEvent } from "../sse.ts";
import { countRequestSchema, type MessagesRequest, messagesRequestSchema } from "./messages-request.ts";

const block = v.variant("type", [
  v.object({ type: v.literal("text"), text: v.string(), citations: v.null() }),
  v.object({ type: v.literal("thinking"), thinking: v.string(), signature: v.string() }),
  v.object({ type: v.literal("tool_use"), id: v.string(), name: v.string(), input: v.record(v.string(), v.unknown()) }),
]);
type Block = v.InferOutput<typeof block>;
const usage = v.object({
  input_tokens: v.number(),
  cache_creation_input_tokens: v.number(),
  cache_read_input_tokens: v.number(),
  output_tokens: v.number(),
});
const responseSchema = v.object({
  id: v.string(),
  type: v.literal("message"),
  role: v.literal("assistant"),
  model: v.string(),
  content: v.array(block),
  stop_reason: v.nullable(v.picklist(["end_turn", "max_tokens", "stop_sequence", "tool_use"])),
  stop_sequence: v.nullable(v.string()),
  usage,
});
type MessageBody = v.InferOutput<typeof responseSchema>;

export const messages: Route = {
  method: "POST",
  path: "/v1/messages",
  tag: "Anthropic",
  summary: "Answers a conversation, by Anthropic's API.",
  body: messagesRequestSchema,
  response: responseSchema,
  streams: true,
  errorBody: anthropicErrorBody,
  async handle(call) {
    const request = await bodyOf(call, messagesRequestSchema);
    const model = await call.scope.lease(call.state.pool, request.model);
    const [answer] = (await startAnswers(answerContext(call), model, request.conversation)) as [Answer];
    if (!request.stream) return json(await whole(request, answer));
    return eventResponse(call, streamMessage(request, answer), (error) =>
      event("error", anthropicErrorBody(error, call.scope.id)),
    );
  },
};

export const countTokens: Route = {
  method: "POST",
  path: "/v1/messages/count_tokens",
  tag: "Anthropic",
  summary: "Counts the tokens of a conversation.",
  body: countRequestSchema,
  response: v.object({ input_tokens: v.number() }),
  errorBody: anthropicErrorBody,
  async handle(call) {
    const { model: name, conversation } = await bodyOf(call, countRequestSchema);
    const model: Model = await call.scope.lease(call.state.pool, name);
    return json({ input_tokens: dialectOf(model, conversation).prompt.length });
  },
};

async function whole(request: MessagesRequest, answer: Answer): Promise<MessageBody> {
  const { reasoning, text, toolCalls, ...end } = await completeAnswer(answer);
  const content: Block[] = [
    ...(reasoning ? [{ type: "thinking" as const, thinking: reasoning, signature: "" }] : []),
    ...(text ? [{ type: "text" as const, text, citations: null }] : []),
    ...toolCalls.map(({ id, name, arguments: json }) => ({
      type: "tool_use" as const,
      id,
      name,
      input: inputOf(json),
    })),
  ];
  return { ...emptyMessage(request), content, ...stopOf(end), usage: usageOf(end) };
}

/** Arguments as an object; what a model wrote that is none is passed on under a name of its own. */
function inputOf(json: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // The client sees it below.
  }
  return { invalid_json: json };
}

function emptyMessage({ model }: MessagesRequest): MessageBody {
  return {
    id: newId("msg_"),
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 },
  };
}

async function* streamMessage(request: MessagesRequest, answer: Answer): AsyncGenerator<ServerEvent, void> {
  const message = emptyMessage(request);
  yield event("message_start", {
    message: { ...message, usage: { ...message.usage, input_tokens: answer.promptTokens } },
  });
  yield event("ping");
  let index = -1;
  let open: Block["type"] | undefined;
  const begin = function* (type: Block["type"], content_block: object): Generator<ServerEvent, void> {
    if (open) yield event("content_block_stop", { index });
    open = type;
    yield event("content_block_start", { index: ++index, content_block: { type, ...content_block } });
  };
  for await (const { parts } of answer.events)
    for (const part of parts) {
      if (part.type === "tool_call") yield* begin("tool_use", { id: part.id, name: part.name, input: {} });
      else if (part.type === "text" && open !== "text") yield* begin("text", { text: "", citations: null });
      else if (part.type === "reasoning" && open !== "thinking")
        yield* begin("thinking", { thinking: "", signature: "" });
      const delta = deltaOf(part);
      if (delta) yield event("content_block_delta", { index, delta });
    }
  if (open) yield event("content_block_stop", { index });
  const end = await answer.end();
  yield event("message_delta", { delta: stopOf(end), usage: usageOf(end) });
  yield event("message_stop");
}

function event(type: string, fields: object = {}): ServerEvent {
  return { event: type, data: { type, ...fields } };
}

function deltaOf(part: AnswerPart): object | undefined {
  switch (part.type) {
    case "text":
      return { type: "text_delta", text: part.text };
    case "reasoning":
      return { type: "thinking_delta", thinking: part.text };
    case "arguments":
      return { type: "input_json_delta", partial_json: part.text };
    case "tool_call":
      return undefined;
  }
}

function stopOf({ reason, result }: AnswerEnd): Pick<MessageBody, "stop_reason" | "stop_sequence"> {
  const { stop = null } = result;
  if (reason === "tool_calls") return { stop_reason: "tool_use", stop_sequence: null };
  if (reason === "length") return { stop_reason: "max_tokens", stop_sequence: null };
  return { stop_reason: stop === null ? "end_turn" : "stop_sequence", stop_sequence: stop };
}

/** Anthropic counts tokens from the cache beside the others. */
function usageOf({ result }: AnswerEnd): MessageBody["usage"] {
  const { promptTokens, cachedTokens, completionTokens } = result.usage;
  return {
    input_tokens: promptTokens - cachedTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
    output_tokens: completionTokens,
  };
}
