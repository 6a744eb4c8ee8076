import * as v from "valibot";
import { type Answer, completeAnswer, interleaved, startAnswers } from "../../chat/answer.ts";
import type { AnswerPart } from "../../chat/answer-reader.ts";
import type { GeneratedToken, Usage } from "../../engine/generation-result.ts";
import type { Model } from "../../model.ts";
import { refuseFormat } from "../api-error.ts";
import { newId } from "../new-id.ts";
import { answerContext, bodyOf, eventResponse, json, type Route } from "../route.ts";
import { DONE, type ServerEvent } from "../sse.ts";
import { chatLogprobs } from "./chat-logprobs.ts";
import { type ChatRequest, chatRequestSchema } from "./chat-request.ts";
import { type UsageBody, usageBody, usageSchema } from "./usage.ts";

const tokenLogprob = v.object({
  token: v.string(),
  logprob: v.number(),
  bytes: v.array(v.number()),
});
const logprobsSchema = v.nullable(
  v.object({
    content: v.array(v.object({ ...tokenLogprob.entries, top_logprobs: v.array(tokenLogprob) })),
    refusal: v.null(),
  }),
);
const responseSchema = v.object({
  id: v.string(),
  object: v.literal("chat.completion"),
  created: v.number(),
  model: v.string(),
  choices: v.array(
    v.object({
      index: v.number(),
      message: v.object({
        role: v.literal("assistant"),
        content: v.nullable(v.string()),
        refusal: v.null(),
        reasoning_content: v.optional(v.string()),
        tool_calls: v.optional(
          v.array(
            v.object({
              id: v.string(),
              type: v.literal("function"),
              function: v.object({ name: v.string(), arguments: v.string() }),
            }),
          ),
        ),
      }),
      logprobs: logprobsSchema,
      finish_reason: v.picklist(["stop", "length", "tool_calls"]),
    }),
  ),
  usage: usageSchema,
});

type Logprobs = v.InferOutput<typeof logprobsSchema>;

export const chatCompletions: Route = {
  method: "POST",
  path: "/v1/chat/completions",
  tag: "OpenAI",
  summary: "Answers a conversation.",
  body: chatRequestSchema,
  response: responseSchema,
  streams: true,
  async handle(call) {
    const request = await bodyOf(call, chatRequestSchema);
    const model = await call.scope.lease(call.state.pool, request.model);
    const starting = startAnswers(answerContext(call), model, request.conversation);
    const answers = await starting.catch(refuseFormat(request.formatField));
    if (request.stream) return eventResponse(call, streamAnswers(request, model, answers));
    return json(await whole(request, model, answers));
  },
};

async function whole(
  request: ChatRequest,
  { tokenizer }: Model,
  answers: readonly Answer[],
): Promise<v.InferOutput<typeof responseSchema>> {
  const complete = await Promise.all(answers.map(completeAnswer));
  return {
    ...head(request, "chat.completion"),
    choices: complete.map(({ reasoning, text, toolCalls, reason, result }, index) => ({
      index,
      message: {
        role: "assistant",
        content: text || toolCalls.length === 0 ? text : null,
        refusal: null,
        ...(reasoning && { reasoning_content: reasoning }),
        ...(toolCalls.length > 0 && {
          tool_calls: toolCalls.map(({ id, ...each }) => ({ id, type: "function" as const, function: each })),
        }),
      },
      logprobs: request.logprobs ? logprobsBody(tokenizer, result.tokens) : null,
      finish_reason: reason,
    })),
    usage: usageBody(complete.map(({ result }) => result.usage)),
  };
}

async function* streamAnswers(
  request: ChatRequest,
  { tokenizer }: Model,
  answers: readonly Answer[],
): AsyncGenerator<ServerEvent, void> {
  const common = head(request, "chat.completion.chunk");
  const chunk = (
    index: number,
    delta: object,
    logprobs: Logprobs = null,
    finish: string | null = null,
  ): ServerEvent => ({
    data: {
      ...common,
      choices: [{ index, delta, logprobs, finish_reason: finish }],
      ...(request.includeUsage && { usage: null }),
    },
  });
  for (const index of answers.keys()) yield chunk(index, { role: "assistant", content: "", refusal: null });
  const unsaid: GeneratedToken[][] = answers.map(() => []);
  for await (const [index, { parts, tokens }] of interleaved(answers.map(({ events }) => events))) {
    if (request.logprobs) unsaid[index]!.push(...tokens);
    for (const part of parts) {
      const logprobs = unsaid[index]!.length > 0 ? logprobsBody(tokenizer, unsaid[index]!.splice(0)) : null;
      yield chunk(index, deltaOf(part), logprobs);
    }
  }
  const usages: Usage[] = [];
  for (const [index, answer] of answers.entries()) {
    const { reason, result } = await answer.end();
    usages.push(result.usage);
    const rest = unsaid[index]!;
    yield chunk(index, {}, rest.length > 0 ? logprobsBody(tokenizer, rest) : null, reason);
  }
  if (request.includeUsage) yield { data: { ...common, choices: [], usage: usageBody(usages) satisfies UsageBody } };
  yield { data: DONE };
}

function head<T extends string>(
  { model }: ChatRequest,
  object: T,
): { id: string; object: T; created: number; model: string } {
  return { id: newId("chatcmpl-"), object, created: Math.floor(Date.now() / 1000), model };
}

function deltaOf(part: AnswerPart): object {
  switch (part.type) {
    case "text":
      return { content: part.text };
    case "reasoning":
      return { reasoning_content: part.text };
    case "tool_call": {
      const { index, id, name } = part;
      return { tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] };
    }
    case "arguments":
      return { tool_calls: [{ index: part.index, function: { arguments: part.text } }] };
  }
}

function logprobsBody(tokenizer: Model["tokenizer"], tokens: readonly GeneratedToken[]): Logprobs {
  return { content: chatLogprobs(tokenizer, tokens), refusal: null };
}
