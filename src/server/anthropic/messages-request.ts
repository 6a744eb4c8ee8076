import * as v from "valibot";
import type { Conversation, ToolChoice } from "../../chat/conversation.ts";
import type { ChatMessage } from "../../text/chat-template.ts";
import { decimal, ignored, integer, jsonObject, modelName, object, optional } from "../fields.ts";
import { checkToolChoice, functionName, functionTool, MAX_TOOLS } from "../tool-fields.ts";

const text = object({
  type: v.literal("text"),
  text: v.string(),
  cache_control: ignored,
  citations: ignored,
});
const toolUse = object({
  type: v.literal("tool_use"),
  id: v.string(),
  name: v.string(),
  input: jsonObject,
  cache_control: ignored,
  caller: ignored,
});
const toolResult = object({
  type: v.literal("tool_result"),
  tool_use_id: v.string(),
  content: optional(v.union([v.string(), v.array(v.variant("type", [text]))])),
  is_error: optional(v.boolean()),
  cache_control: ignored,
});
const thinking = object({ type: v.literal("thinking"), thinking: v.string(), signature: optional(v.string()) });
const message = v.variant("role", [
  object({
    role: v.literal("user"),
    content: v.union([v.string(), v.pipe(v.array(v.variant("type", [text, toolResult])), v.minLength(1))]),
  }),
  object({
    role: v.literal("assistant"),
    content: v.union([v.string(), v.pipe(v.array(v.variant("type", [text, toolUse, thinking])), v.minLength(1))]),
  }),
]);
type Message = v.InferOutput<typeof message>;

const tool = object({
  type: optional(v.literal("custom")),
  name: functionName,
  description: optional(v.string()),
  input_schema: jsonObject,
  cache_control: ignored,
  strict: ignored,
  eager_input_streaming: ignored,
});
const disable_parallel_tool_use = optional(v.boolean());
const toolChoice = v.variant("type", [
  object({ type: v.literal("auto"), disable_parallel_tool_use }),
  object({ type: v.literal("any"), disable_parallel_tool_use }),
  object({ type: v.literal("tool"), name: v.string(), disable_parallel_tool_use }),
  object({ type: v.literal("none") }),
]);

const conversationFields = {
  model: modelName,
  messages: v.pipe(v.array(message), v.minLength(1)),
  system: optional(v.union([v.string(), v.array(text)])),
  tools: optional(v.pipe(v.array(tool), v.maxLength(MAX_TOOLS))),
  tool_choice: optional(toolChoice),
  thinking: optional(
    v.variant("type", [
      object({ type: v.literal("enabled"), budget_tokens: integer(1), display: ignored }),
      object({ type: v.literal("adaptive"), display: ignored }),
      object({ type: v.literal("disabled") }),
    ]),
  ),
  output_config: optional(
    object({
      effort: optional(v.string()),
      format: optional(object({ type: v.literal("json_schema"), schema: jsonObject })),
    }),
  ),
  cache_control: ignored,
};

const schema = object({
  ...conversationFields,
  max_tokens: integer(1),
  temperature: optional(decimal(0, 1)),
  top_p: optional(decimal(0, 1)),
  top_k: optional(integer(0)),
  stop_sequences: optional(v.pipe(v.array(v.pipe(v.string(), v.nonEmpty())), v.maxLength(16))),
  stream: optional(v.boolean()),
  metadata: optional(object({ user_id: optional(v.pipe(v.string(), v.maxLength(512))) })),
  service_tier: optional(v.string()),
});
type Body = v.InferOutput<typeof schema>;
type ConversationBody = Pick<Body, keyof typeof conversationFields>;

export interface MessagesRequest {
  readonly model: string;
  readonly conversation: Conversation;
  readonly stream: boolean;
}

export const messagesRequestSchema: v.GenericSchema<unknown, MessagesRequest> = v.pipe(
  schema,
  v.transform((body) => ({
    model: body.model,
    stream: body.stream ?? false,
    conversation: conversationOf(body, {
      maxTokens: body.max_tokens,
      temperature: body.temperature ?? 1,
      topP: body.top_p ?? undefined,
      topK: body.top_k ?? undefined,
      ...(body.stop_sequences?.length && { stop: body.stop_sequences }),
      ...(body.metadata?.user_id && { user: body.metadata.user_id }),
    }),
  })),
);

export const countRequestSchema: v.GenericSchema<unknown, Omit<MessagesRequest, "stream">> = v.pipe(
  object(conversationFields),
  v.transform((body) => ({ model: body.model, conversation: conversationOf(body, {}) })),
);

function conversationOf(body: ConversationBody, options: Conversation["options"]): Conversation {
  const tools = (body.tools ?? []).map(({ input_schema, ...each }) =>
    functionTool({ ...each, parameters: input_schema }),
  );
  const choice = body.tool_choice;
  const toolChoice: ToolChoice =
    choice?.type === "tool" ? { name: choice.name } : choice?.type === "any" ? "required" : (choice?.type ?? "auto");
  checkToolChoice(toolChoice, tools);
  const system = plainText(body.system ?? "");
  const messages = [...(system ? [{ role: "system", content: system }] : []), ...body.messages.flatMap(chatMessages)];
  const last = messages.at(-1);
  const isPrefill = last?.role === "assistant" && !("tool_calls" in last);
  const format = body.output_config?.format;
  return {
    messages: isPrefill ? messages.slice(0, -1) : messages,
    ...(isPrefill && { prefill: String(last.content).trimEnd() }),
    tools,
    toolChoice,
    parallelToolCalls: !(choice && "disable_parallel_tool_use" in choice && choice.disable_parallel_tool_use),
    format: format ? { type: "json_schema", schema: format.schema } : undefined,
    reasoning: body.thinking ? body.thinking.type !== "disabled" : undefined,
    templateVariables: {},
    options,
    choices: 1,
  };
}

/** Results of tools are turns of their own for chat templates, before the user's words. */
function chatMessages({ role, content }: Message): ChatMessage[] {
  if (typeof content === "string") return [{ role, content }];
  const words = plainText(content.filter((block) => block.type === "text"));
  if (role === "user") {
    const results = content
      .filter((block) => block.type === "tool_result")
      .map((block) => ({
        role: "tool",
        tool_call_id: block.tool_use_id,
        content: `${block.is_error ? "Error: " : ""}${plainText(block.content ?? "")}`,
      }));
    return words || results.length === 0 ? [...results, { role, content: words }] : results;
  }
  const thoughts = content.flatMap((block) => (block.type === "thinking" ? [block.thinking] : [])).join("\n");
  const calls = content
    .filter((block) => block.type === "tool_use")
    .map(({ id, name, input }) => ({ id, type: "function", function: { name, arguments: input } }));
  return [
    {
      role,
      content: words,
      ...(thoughts && { reasoning_content: thoughts }),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
  ];
}

function plainText(content: string | readonly { readonly text: string }[]): string {
  return typeof content === "string" ? content : content.map(({ text }) => text).join("\n");
}
