import type { ToolCallSyntax } from "../grammar/token-constraint.ts";
import type { ChatMessage } from "../text/chat-template.ts";
import type { FunctionTool } from "./conversation.ts";

/** Whether a chat template shows tools to the model. */
export function readsTools(templateSource: string): boolean {
  return /\btools\b/.test(templateSource);
}

/**
 * A conversation with tools for a template that knows none: the tools are described in the system's message, calls are
 * written as the model shall write them, and results come as a user's words.
 */
export function describeTools(
  messages: readonly ChatMessage[],
  tools: readonly FunctionTool[],
  syntax: ToolCallSyntax,
): ChatMessage[] {
  const description = tools.length > 0 ? describe(tools, syntax) : "";
  const [first, ...rest] = messages;
  const system = first?.role === "system" ? [String(first.content ?? ""), description] : [description];
  const content = system.filter(Boolean).join("\n\n");
  const shown: ChatMessage[] = content ? [{ role: "system", content }] : [];
  for (const message of first?.role === "system" ? rest : messages) {
    const plain = withoutTools(message, syntax);
    const last = shown.at(-1);
    // Many templates want users and assistants in turns.
    if (last?.role === "user" && plain.role === "user")
      shown[shown.length - 1] = { ...last, content: `${last.content}\n${plain.content}` };
    else shown.push(plain);
  }
  return shown;
}

function describe(tools: readonly FunctionTool[], syntax: ToolCallSyntax): string {
  const form = written([`{"name": NAME, "${syntax.argumentsKey}": {…}}`], syntax);
  const list = tools.map((tool) => JSON.stringify(tool)).join("\n");
  return `You can call these functions:\n${list}\nTo call one, answer with nothing but ${form}`;
}

function withoutTools(message: ChatMessage, syntax: ToolCallSyntax): ChatMessage {
  const { role, content, name, tool_calls } = message;
  if (role === "tool") return { role: "user", content: `Result${name ? ` of ${name}` : ""}: ${content ?? ""}` };
  if (!Array.isArray(tool_calls)) return message;
  const calls = (tool_calls as { function: { name: string; arguments: unknown } }[]).map(({ function: called }) =>
    JSON.stringify({ name: called.name, [syntax.argumentsKey]: called.arguments }),
  );
  return { role, content: [content, written(calls, syntax)].filter(Boolean).join("\n") };
}

function written(calls: readonly string[], { open, close, between, list }: ToolCallSyntax): string {
  if (list) return `${open}[${calls.join(", ")}]${close}`;
  return calls.map((call) => open + call + close).join(between);
}
