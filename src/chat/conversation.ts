import type { GenerateOptions } from "../engine/generate-options.ts";
import type { ConstraintSpec } from "../grammar/token-constraint.ts";
import type { ChatMessage } from "../text/chat-template.ts";

/** A function that the model may call. */
export interface FunctionTool {
  readonly name: string;
  readonly description?: string;
  /** JSON schema of its arguments; none: any object. */
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** Calls as the model likes, none, at least one, or one of that function. */
export type ToolChoice = "auto" | "none" | "required" | { readonly name: string };

/** What each of the chat APIs comes down to. */
export interface Conversation {
  readonly messages: readonly ChatMessage[];
  /** Words the answer begins with, which the model goes on from. */
  readonly prefill?: string;
  readonly tools: readonly FunctionTool[];
  readonly toolChoice: ToolChoice;
  readonly parallelToolCalls: boolean;
  /** What the answer must be; undefined: any text. */
  readonly format: ConstraintSpec | undefined;
  /** Whether a model that can reason first should; undefined: as its template has it. */
  readonly reasoning: boolean | undefined;
  readonly templateVariables: Readonly<Record<string, unknown>>;
  readonly options: GenerateOptions;
  readonly choices: number;
}

/** A call in an assistant's message, as the templates of most models read it: with arguments as an object. */
export function toolCallMessagePart(id: string, name: string, argumentsJson: string): object {
  return { id, type: "function", function: { name, arguments: parsedOrText(argumentsJson) } };
}

function parsedOrText(json: string): unknown {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // What a model once wrote need not be JSON; it is shown to it as it was.
  }
  return json;
}

/** The options of one of several choices: each has a seed of its own, and all are repeated by the first's. */
export function choiceOptions(options: GenerateOptions, index: number): GenerateOptions {
  const { seed } = options;
  return index === 0 || seed === undefined ? options : { ...options, seed: (seed + index) % Number.MAX_SAFE_INTEGER };
}
