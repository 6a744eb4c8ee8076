import * as v from "valibot";
import { type Conversation, type FunctionTool, type ToolChoice, toolCallMessagePart } from "../../chat/conversation.ts";
import type { ConstraintSpec } from "../../grammar/token-constraint.ts";
import type { ChatMessage } from "../../text/chat-template.ts";
import {
  demand,
  ignored,
  integer,
  jsonObject,
  MAX_CHOICES,
  modelName,
  object,
  optional,
  samplingFields,
  samplingOptions,
} from "../fields.ts";
import { checkToolChoice, functionName, functionTool, MAX_TOOLS } from "../tool-fields.ts";

const textPart = object({ type: v.literal("text"), text: v.string() });
const refusalPart = object({ type: v.literal("refusal"), refusal: v.string() });
const content = v.union([v.string(), v.pipe(v.array(v.variant("type", [textPart])), v.minLength(1))]);
const assistantContent = v.union([
  v.string(),
  v.pipe(v.array(v.variant("type", [textPart, refusalPart])), v.minLength(1)),
]);
const name = optional(v.string());

const toolCall = object({
  id: v.string(),
  type: v.literal("function"),
  function: object({ name: v.string(), arguments: v.string() }),
});

const message = v.variant("role", [
  object({ role: v.literal("system"), content, name }),
  object({ role: v.literal("developer"), content, name }),
  object({ role: v.literal("user"), content, name }),
  object({
    role: v.literal("assistant"),
    content: optional(assistantContent),
    name,
    refusal: optional(v.string()),
    tool_calls: optional(v.pipe(v.array(toolCall), v.minLength(1))),
    reasoning_content: optional(v.string()),
    audio: v.nullish(v.null()),
    annotations: ignored,
    function_call: v.nullish(v.null()),
  }),
  object({ role: v.literal("tool"), content, tool_call_id: v.string(), name }),
]);

type Message = v.InferOutput<typeof message>;
const messages = v.pipe(v.array(message), v.minLength(1));

/** A conversation alone, as the chat template will read it. */
export const chatMessagesSchema: v.GenericSchema<unknown, ChatMessage[]> = v.pipe(messages, v.transform(chatMessages));

const tool = object({
  type: v.literal("function"),
  function: object({
    name: functionName,
    description: optional(v.string()),
    parameters: optional(jsonObject),
    strict: optional(v.boolean()),
  }),
});

const tools = v.pipe(v.array(tool), v.maxLength(MAX_TOOLS));

/** Tools alone. */
export const chatToolsSchema: v.GenericSchema<unknown, FunctionTool[]> = v.pipe(tools, v.transform(functionTools));

function functionTools(given: v.InferOutput<typeof tools>): FunctionTool[] {
  return given.map(({ function: each }) => functionTool(each));
}

const toolChoice = v.union([
  v.picklist(["none", "auto", "required"]),
  object({ type: v.literal("function"), function: object({ name: v.string() }) }),
]);

const responseFormat = v.variant("type", [
  object({ type: v.literal("text") }),
  object({ type: v.literal("json_object") }),
  object({
    type: v.literal("json_schema"),
    json_schema: object({
      name: functionName,
      description: optional(v.string()),
      schema: optional(jsonObject),
      strict: optional(v.boolean()),
    }),
  }),
]);

const schema = object({
  model: modelName,
  messages,
  ...samplingFields,
  max_completion_tokens: optional(integer(1)),
  max_tokens: optional(integer(1)),
  n: optional(integer(1, MAX_CHOICES)),
  logprobs: optional(v.boolean()),
  top_logprobs: optional(integer(0, 20)),
  response_format: optional(responseFormat),
  tools: optional(tools),
  tool_choice: optional(toolChoice),
  parallel_tool_calls: optional(v.boolean()),
  reasoning_effort: optional(v.picklist(["none", "minimal", "low", "medium", "high", "xhigh"])),
  stream: optional(v.boolean()),
  stream_options: optional(
    object({ include_usage: optional(v.boolean()), include_obfuscation: optional(v.boolean()) }),
  ),
  // vLLM's.
  chat_template_kwargs: optional(jsonObject),
  structured_outputs: optional(
    object({ regex: optional(v.string()), grammar: optional(v.string()), json: optional(jsonObject) }),
  ),
  // Known to OpenAI's API, and of no effect here.
  metadata: optional(jsonObject),
  modalities: optional(v.array(v.literal("text"))),
  prediction: ignored,
  prompt_cache_key: optional(v.string()),
  prompt_cache_retention: optional(v.string()),
  safety_identifier: optional(v.string()),
  service_tier: optional(v.string()),
  store: optional(v.boolean()),
  verbosity: optional(v.picklist(["low", "medium", "high"])),
});

type Body = v.InferOutput<typeof schema>;

export const chatRequestSchema: v.GenericSchema<unknown, ChatRequest> = v.pipe(schema, v.transform(readBody));

export interface ChatRequest {
  readonly model: string;
  readonly conversation: Conversation;
  /** The field that has its format, for errors. */
  readonly formatField: string;
  readonly logprobs: boolean;
  readonly stream: boolean;
  readonly includeUsage: boolean;
}

function readBody(body: Body): ChatRequest {
  demand(!body.top_logprobs || body.logprobs === true, "top_logprobs", "'top_logprobs' needs 'logprobs' to be true.");
  demand(!body.stream_options || body.stream === true, "stream_options", "'stream_options' needs 'stream' to be true.");
  const tools = functionTools(body.tools ?? []);
  const choice = body.tool_choice;
  const toolChoice: ToolChoice =
    typeof choice === "object" && choice !== null ? { name: choice.function.name } : (choice ?? "auto");
  checkToolChoice(toolChoice, tools);
  const effort = body.reasoning_effort;
  const maxTokens = body.max_completion_tokens ?? body.max_tokens;
  return {
    model: body.model,
    stream: body.stream ?? false,
    includeUsage: body.stream_options?.include_usage ?? false,
    logprobs: body.logprobs ?? false,
    formatField: formatField(body),
    conversation: {
      messages: chatMessages(body.messages),
      tools,
      toolChoice,
      parallelToolCalls: body.parallel_tool_calls ?? true,
      format: constraintSpec(body),
      reasoning: effort ? effort !== "none" : undefined,
      templateVariables: body.chat_template_kwargs ?? {},
      choices: body.n ?? 1,
      options: {
        ...samplingOptions(body),
        ...(maxTokens && { maxTokens }),
        ...(body.logprobs && { logprobs: body.top_logprobs ?? 0 }),
      },
    },
  };
}

function constraintSpec({ response_format: format, structured_outputs: outputs }: Body): ConstraintSpec | undefined {
  if (outputs?.regex) return { type: "regex", pattern: outputs.regex };
  if (outputs?.grammar) return { type: "gbnf", grammar: outputs.grammar };
  if (outputs?.json) return { type: "json_schema", schema: outputs.json };
  if (format?.type === "json_object") return { type: "json_object" };
  if (format?.type === "json_schema") return { type: "json_schema", schema: format.json_schema.schema ?? {} };
  return undefined;
}

function formatField({ structured_outputs: outputs }: Body): string {
  const field = (["regex", "grammar", "json"] as const).find((name) => outputs?.[name]);
  return field ? `structured_outputs.${field}` : "response_format";
}

function chatMessages(messages: Message[]): ChatMessage[] {
  const namesOfCalls = new Map(
    messages
      .flatMap((each) => (each.role === "assistant" ? (each.tool_calls ?? []) : []))
      .map((call) => [call.id, call.function.name]),
  );
  return messages.map((each) => chatMessage(each, namesOfCalls));
}

function chatMessage(message: Message, namesOfCalls: ReadonlyMap<string, string>): ChatMessage {
  if (message.role === "assistant") {
    const { content, refusal, reasoning_content, tool_calls } = message;
    return {
      role: "assistant",
      content: content ? plainText(content) : (refusal ?? ""),
      ...(reasoning_content && { reasoning_content }),
      ...(tool_calls && {
        tool_calls: tool_calls.map(({ id, function: f }) => toolCallMessagePart(id, f.name, f.arguments)),
      }),
    };
  }
  const role = message.role === "developer" ? "system" : message.role;
  const content = plainText(message.content);
  if (message.role !== "tool") return { role, content, ...(message.name && { name: message.name }) };
  const name = message.name ?? namesOfCalls.get(message.tool_call_id);
  return { role, content, tool_call_id: message.tool_call_id, ...(name && { name }) };
}

type Part = { readonly type: "text"; readonly text: string } | { readonly type: "refusal"; readonly refusal: string };

/** Templates read one text; parts are its paragraphs. */
function plainText(content: string | readonly Part[]): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : part.refusal)).join("\n");
}
