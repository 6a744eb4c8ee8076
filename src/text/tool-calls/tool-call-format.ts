import type { ToolCallSyntax } from "../../grammar/token-constraint.ts";

/** How a family of models writes calls of tools. */
export interface ToolCallFormat {
  readonly family: ToolCallFamily;
  /** What opens calls anywhere in the answer. */
  readonly open: string | undefined;
  /** What closes them. */
  readonly close: string | undefined;
  /** Calls may also be all there is to the answer, without a mark. */
  readonly bare: boolean;
  /** Calls may stand in a block of code. */
  readonly fenced: boolean;
  /** How a constraint makes the model write them. */
  readonly syntax: ToolCallSyntax;
  /** Characters of a call's id, after its prefix. */
  readonly idPrefix: string;
  readonly idLength: number;
}

export type ToolCallFamily = "hermes" | "llama3" | "mistral" | "gemma" | "json";

/** OpenAI's ids look so; Mistral's templates refuse any but nine letters and digits. */
const OPENAI_ID = { idPrefix: "call_", idLength: 24 } as const;

export const TOOL_CALL_FORMATS: Readonly<Record<ToolCallFamily, ToolCallFormat>> = {
  hermes: {
    family: "hermes",
    open: "<tool_call>",
    close: "</tool_call>",
    bare: false,
    fenced: false,
    syntax: { open: "<tool_call>\n", close: "\n</tool_call>", between: "\n", list: false, argumentsKey: "arguments" },
    ...OPENAI_ID,
  },
  llama3: {
    family: "llama3",
    open: "<|python_tag|>",
    close: undefined,
    bare: true,
    fenced: false,
    syntax: { open: "", close: "", between: "; ", list: false, argumentsKey: "parameters" },
    ...OPENAI_ID,
  },
  mistral: {
    family: "mistral",
    open: "[TOOL_CALLS]",
    close: undefined,
    bare: true,
    fenced: false,
    syntax: { open: "[TOOL_CALLS]", close: "", between: "", list: true, argumentsKey: "arguments" },
    idPrefix: "",
    idLength: 9,
  },
  gemma: {
    family: "gemma",
    open: undefined,
    close: undefined,
    bare: true,
    fenced: true,
    syntax: { open: "", close: "", between: "\n", list: false, argumentsKey: "parameters" },
    ...OPENAI_ID,
  },
  json: {
    family: "json",
    open: undefined,
    close: undefined,
    bare: true,
    fenced: true,
    syntax: { open: "", close: "", between: "\n", list: false, argumentsKey: "arguments" },
    ...OPENAI_ID,
  },
};

/** The way of calling tools that a chat template teaches. */
export function detectToolCalls(templateSource: string): ToolCallFormat {
  const family = (["hermes", "mistral", "llama3"] as const).find((name) =>
    templateSource.includes(TOOL_CALL_FORMATS[name].open!),
  );
  if (family) return TOOL_CALL_FORMATS[family];
  if (templateSource.includes("<start_of_turn>")) return TOOL_CALL_FORMATS.gemma;
  // Llama 3.2's small models have no tag.
  const isLlama = templateSource.includes("<|start_header_id|>");
  return isLlama ? TOOL_CALL_FORMATS.llama3 : TOOL_CALL_FORMATS.json;
}
