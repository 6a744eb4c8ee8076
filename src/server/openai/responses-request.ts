import * as v from "valibot";
import { type Conversation, type ToolChoice, toolCallMessagePart } from "../../chat/conversation.ts";
import type { ConstraintSpec } from "../../grammar/token-constraint.ts";
import type { ChatMessage } from "../../text/chat-template.ts";
import { decimal, ignored, integer, jsonObject, modelName, object, optional } from "../fields.ts";
import { checkToolChoice, functionName, functionTool, MAX_TOOLS } from "../tool-fields.ts";

const id = optional(v.string());
const status = optional(v.string());
const inputText = object({ type: v.literal("input_text"), text: v.string() });
const outputText = object({
  type: v.literal("output_text"),
  text: v.string(),
  annotations: ignored,
  logprobs: ignored,
});
const refusal = object({ type: v.literal("refusal"), refusal: v.string() });
const message = object({
  type: optional(v.literal("message")),
  id,
  status,
  role: v.picklist(["user", "assistant", "system", "developer"]),
  content: v.union([v.string(), v.pipe(v.array(v.variant("type", [inputText, outputText, refusal])), v.minLength(1))]),
});
const functionCall = object({
  type: v.literal("function_call"),
  id,
  status,
  call_id: v.string(),
  name: v.string(),
  arguments: v.string(),
});
const functionOutput = object({
  type: v.literal("function_call_output"),
  id,
  status,
  call_id: v.string(),
  output: v.union([v.string(), v.array(v.variant("type", [inputText]))]),
});
const reasoningItem = object({
  type: v.literal("reasoning"),
  id,
  status,
  summary: ignored,
  content: optional(v.array(object({ type: v.literal("reasoning_text"), text: v.string() }))),
  encrypted_content: ignored,
});
const item = v.union([message, v.variant("type", [functionCall, functionOutput, reasoningItem])]);

const tool = v.variant("type", [
  object({
    type: v.literal("function"),
    name: functionName,
    description: optional(v.string()),
    parameters: optional(jsonObject),
    strict: optional(v.boolean()),
  }),
]);
const toolChoice = v.union([
  v.picklist(["none", "auto", "required"]),
  object({ type: v.literal("function"), name: v.string() }),
]);
const format = v.variant("type", [
  object({ type: v.literal("text") }),
  object({ type: v.literal("json_object") }),
  object({
    type: v.literal("json_schema"),
    name: functionName,
    description: optional(v.string()),
    schema: jsonObject,
    strict: optional(v.boolean()),
  }),
]);

const schema = object({
  model: modelName,
  input: v.union([v.string(), v.pipe(v.array(item), v.minLength(1))]),
  instructions: optional(v.string()),
  max_output_tokens: optional(integer(1)),
  temperature: optional(decimal(0, 2)),
  top_p: optional(decimal(0, 1)),
  top_logprobs: optional(integer(0, 20)),
  include: optional(v.array(v.string())),
  tools: optional(v.pipe(v.array(tool), v.maxLength(MAX_TOOLS))),
  tool_choice: optional(toolChoice),
  parallel_tool_calls: optional(v.boolean()),
  text: optional(object({ format: optional(format), verbosity: optional(v.string()) })),
  reasoning: optional(
    object({ effort: optional(v.string()), summary: optional(v.string()), generate_summary: ignored }),
  ),
  stream: optional(v.boolean()),
  stream_options: optional(object({ include_obfuscation: optional(v.boolean()) })),
  user: optional(v.pipe(v.string(), v.maxLength(512))),
  // Nothing is kept here: what was said before, a client says again.
  previous_response_id: v.nullish(v.null()),
  conversation: v.nullish(v.null()),
  prompt: v.nullish(v.null()),
  background: v.nullish(v.literal(false)),
  truncation: v.nullish(v.literal("disabled")),
  // Known to OpenAI's API, and of no effect here.
  store: optional(v.boolean()),
  metadata: optional(jsonObject),
  max_tool_calls: optional(integer(1)),
  service_tier: optional(v.string()),
  prompt_cache_key: optional(v.string()),
  prompt_cache_retention: optional(v.string()),
  safety_identifier: optional(v.string()),
});
type Body = v.InferOutput<typeof schema>;
type Item = v.InferOutput<typeof item>;

export interface ResponsesRequest {
  readonly model: string;
  readonly conversation: Conversation;
  readonly stream: boolean;
  readonly logprobs: boolean;
  /** The fields that the response shows again. */
  readonly shown: Readonly<Record<string, unknown>>;
}

export const responsesRequestSchema: v.GenericSchema<unknown, ResponsesRequest> = v.pipe(schema, v.transform(readBody));

function readBody(body: Body): ResponsesRequest {
  const tools = (body.tools ?? []).map(functionTool);
  const choice = body.tool_choice;
  const toolChoice: ToolChoice = typeof choice === "object" && choice ? { name: choice.name } : (choice ?? "auto");
  checkToolChoice(toolChoice, tools);
  const effort = body.reasoning?.effort;
  const logprobs = body.include?.includes("message.output_text.logprobs") ?? false;
  return {
    model: body.model,
    stream: body.stream ?? false,
    logprobs,
    conversation: {
      messages: chatMessages(body),
      tools,
      toolChoice,
      parallelToolCalls: body.parallel_tool_calls ?? true,
      format: constraintSpec(body.text?.format),
      reasoning: effort ? effort !== "none" : undefined,
      templateVariables: {},
      choices: 1,
      options: {
        temperature: body.temperature ?? 1,
        topP: body.top_p ?? 1,
        ...(body.max_output_tokens && { maxTokens: body.max_output_tokens }),
        ...(body.user && { user: body.user }),
        ...(logprobs && { logprobs: body.top_logprobs ?? 0 }),
      },
    },
    shown: {
      instructions: body.instructions ?? null,
      max_output_tokens: body.max_output_tokens ?? null,
      metadata: body.metadata ?? {},
      parallel_tool_calls: body.parallel_tool_calls ?? true,
      reasoning: { effort: effort ?? null, summary: null },
      temperature: body.temperature ?? 1,
      text: { format: body.text?.format ?? { type: "text" } },
      tool_choice: choice ?? "auto",
      tools: body.tools ?? [],
      top_logprobs: body.top_logprobs ?? 0,
      top_p: body.top_p ?? 1,
      user: body.user ?? null,
    },
  };
}

type Format = v.InferOutput<typeof format>;

function constraintSpec(format: Format | null | undefined): ConstraintSpec | undefined {
  if (format?.type === "json_schema") return { type: "json_schema", schema: format.schema };
  return format?.type === "json_object" ? { type: "json_object" } : undefined;
}

function chatMessages({ input, instructions }: Body): ChatMessage[] {
  const system = instructions ? [{ role: "system", content: instructions }] : [];
  if (typeof input === "string") return [...system, { role: "user", content: input }];
  const names = new Map(input.flatMap((each) => (each.type === "function_call" ? [[each.call_id, each.name]] : [])));
  const turns = new Turns();
  for (const each of input) turns.add(each, names);
  return [...system, ...turns.messages];
}

/** Puts together again what the API has as items of their own: a turn's reasoning, its words and its calls. */
class Turns {
  readonly messages: ChatMessage[] = [];
  #reasoning = "";

  add(each: Item, names: ReadonlyMap<string, string>): void {
    switch (each.type) {
      case "reasoning":
        this.#reasoning += (each.content ?? []).map(({ text }) => text).join("");
        return;
      case "function_call":
        this.#addCall(toolCallMessagePart(each.call_id, each.name, each.arguments));
        return;
      case "function_call_output": {
        const name = names.get(each.call_id);
        const content = plainText(each.output);
        this.messages.push({ role: "tool", tool_call_id: each.call_id, content, ...(name && { name }) });
        return;
      }
      default: {
        const content = plainText(each.content);
        if (each.role === "assistant") this.messages.push({ role: "assistant", content, ...this.#takeReasoning() });
        else this.messages.push({ role: each.role === "developer" ? "system" : each.role, content });
      }
    }
  }

  #addCall(call: object): void {
    const last = this.messages.at(-1);
    if (last?.role !== "assistant")
      this.messages.push({ role: "assistant", content: "", ...this.#takeReasoning(), tool_calls: [call] });
    else
      this.messages[this.messages.length - 1] = {
        ...last,
        tool_calls: [...((last.tool_calls as object[]) ?? []), call],
      };
  }

  #takeReasoning(): { reasoning_content?: string } {
    const reasoning = this.#reasoning;
    this.#reasoning = "";
    return reasoning ? { reasoning_content: reasoning } : {};
  }
}

type Part = { readonly text: string } | { readonly refusal: string };

function plainText(content: string | readonly Part[]): string {
  if (typeof content === "string") return content;
  return content.map((part) => ("text" in part ? part.text : part.refusal)).join("\n");
}
