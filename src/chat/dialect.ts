import type { ConstraintOptions, ConstraintSpec } from "../grammar/token-constraint.ts";
import type { Model } from "../model.ts";
import type { ChatMessage } from "../text/chat-template.ts";
import { detectReasoning, opensReasoning, type ReasoningFormat } from "../text/reasoning/reasoning-splitter.ts";
import { detectToolCalls, type ToolCallFormat } from "../text/tool-calls/tool-call-format.ts";
import type { Conversation, FunctionTool } from "./conversation.ts";
import { describeTools, readsTools } from "./described-tools.ts";

/** Calls of one answer that a constraint makes room for. */
const MAX_CALLS = 8;

/** How a model marks what is reasoning and what is a call, in the answer to one conversation. */
export interface Dialect {
  readonly prompt: Int32Array;
  readonly reasoning: ReasoningFormat | undefined;
  /** The prompt has opened the reasoning. */
  readonly opened: boolean;
  /** How calls are written; undefined where there shall be none. */
  readonly calls: ToolCallFormat | undefined;
  /** Marks that are special tokens, by their ids: others of those are no text. */
  readonly markers: ReadonlyMap<number, string>;
}

/** Renders a conversation and tells by the model's template how it will be answered. Throws as `Model.renderChat` does. */
export function dialectOf(model: Model, conversation: Conversation): Dialect {
  const { toolChoice, templateVariables, reasoning: wanted, prefill = "" } = conversation;
  const tools = toolChoice === "none" ? [] : conversation.tools;
  const rendered =
    renderWithTools(model, conversation.messages, tools, {
      // With a format nothing is called.
      described: !conversation.format,
      templateVariables: { ...(wanted !== undefined && { enable_thinking: wanted }), ...templateVariables },
    }) + prefill;
  const { source } = model.chatTemplates.choose({ tools: tools.length > 0 });
  const reasoning = detectReasoning(source);
  const calls = tools.length > 0 && !conversation.format ? detectToolCalls(source) : undefined;
  const markers = new Map<number, string>();
  for (const mark of [reasoning?.open, reasoning?.close, calls?.open, calls?.close]) {
    const id = mark === undefined ? undefined : model.tokenizer.addedTokenId(mark);
    if (id !== undefined && model.tokenizer.isSpecial(id)) markers.set(id, mark!);
  }
  return {
    prompt: model.encodeChat(rendered),
    reasoning,
    opened: reasoning !== undefined && opensReasoning(rendered, reasoning),
    calls,
    markers,
  };
}

interface RenderOptions {
  /** A template without tools gets a description of them in their place; default true. */
  readonly described?: boolean;
  readonly templateVariables: Readonly<Record<string, unknown>>;
}

/** A conversation in the model's words, with the tools it may call. Throws as `Model.renderChat` does. */
export function renderWithTools(
  model: Model,
  messages: readonly ChatMessage[],
  tools: readonly FunctionTool[],
  { described = true, templateVariables }: RenderOptions,
): string {
  if (tools.length === 0) return model.renderChat(messages, { templateVariables });
  const { source } = model.chatTemplates.choose({ tools: true });
  if (!readsTools(source)) {
    const plain = describeTools(messages, described ? tools : [], detectToolCalls(source).syntax);
    return model.renderChat(plain, { templateVariables });
  }
  return model.renderChat(messages, {
    tools: tools.map((tool) => ({ type: "function", function: tool })),
    templateVariables,
  });
}

/** What the answer must be, and what may come before: undefined where anything goes. */
export function constraintOf(
  { reasoning, opened, calls, markers }: Dialect,
  { format, tools, toolChoice, parallelToolCalls, reasoning: wanted }: Conversation,
): { readonly spec: ConstraintSpec; readonly options: ConstraintOptions } | undefined {
  const marks = reasoning && (opened ? { close: reasoning.close } : wanted === false ? undefined : reasoning);
  const options: ConstraintOptions = {
    ...(marks && { reasoning: marks }),
    ...(markers.size > 0 && { markers: [...markers.values()] }),
  };
  if (format) return { spec: format, options };
  if (!calls || toolChoice === "auto" || toolChoice === "none") return undefined;
  const callable = typeof toolChoice === "object" ? tools.filter(({ name }) => name === toolChoice.name) : tools;
  const maxCalls = parallelToolCalls && typeof toolChoice !== "object" ? MAX_CALLS : 1;
  return { spec: { type: "tool_calls", tools: callable, syntax: calls.syntax, maxCalls }, options };
}
