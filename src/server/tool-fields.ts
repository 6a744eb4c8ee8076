import * as v from "valibot";
import type { FunctionTool, ToolChoice } from "../chat/conversation.ts";
import { demand } from "./fields.ts";

/** Of functions and schemas, as OpenAI and Anthropic allow them. */
export const functionName: v.GenericSchema<unknown, string> = v.pipe(
  v.string(),
  v.regex(/^[a-zA-Z0-9_-]{1,64}$/, "it must match ^[a-zA-Z0-9_-]{1,64}$."),
);

export const MAX_TOOLS = 128;

/** Without the fields that were left out: templates print a tool as it stands. */
export function functionTool(tool: {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly parameters?: Record<string, unknown> | null | undefined;
}): FunctionTool {
  const { name, description, parameters } = tool;
  return { name, ...(description && { description }), ...(parameters && { parameters }) };
}

/** Throws 400 for a choice among tools that are not there. */
export function checkToolChoice(choice: ToolChoice, tools: readonly FunctionTool[]): void {
  const isGiven = choice !== "auto" && choice !== "none";
  demand(!isGiven || tools.length > 0, "tool_choice", "'tool_choice' needs 'tools'.");
  if (typeof choice !== "object") return;
  const isKnown = tools.some(({ name }) => name === choice.name);
  demand(isKnown, "tool_choice", `Tool choice '${choice.name.slice(0, 64)}' is not among 'tools'.`);
}
