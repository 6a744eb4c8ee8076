import type { LanguageModelV3Message, LanguageModelV3Prompt, LanguageModelV3ToolResultPart } from "@ai-sdk/provider";
import { toolCallMessagePart } from "../chat/conversation.ts";
import { HalfbyteError } from "../errors.ts";
import type { ChatMessage } from "../text/chat-template.ts";

/** The AI SDK's prompt as chat templates read conversations. Throws ERR_UNSUPPORTED for pictures and other files. */
export function chatMessages(prompt: LanguageModelV3Prompt): ChatMessage[] {
  return prompt.flatMap(chatMessage);
}

function chatMessage(message: LanguageModelV3Message): ChatMessage | ChatMessage[] {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.content };
    case "user":
      return { role: "user", content: message.content.map((part) => textOf(part)).join("") };
    case "assistant": {
      const calls = message.content.flatMap((part) => (part.type === "tool-call" ? [part] : []));
      const reasoning = message.content.flatMap((part) => (part.type === "reasoning" ? [part.text] : [])).join("");
      const text = message.content.filter((part) => part.type !== "tool-call" && part.type !== "reasoning");
      return {
        role: "assistant",
        content: text.map((part) => textOf(part)).join(""),
        ...(reasoning && { reasoning_content: reasoning }),
        ...(calls.length > 0 && {
          tool_calls: calls.map(({ toolCallId, toolName, input }) =>
            toolCallMessagePart(toolCallId, toolName, JSON.stringify(input)),
          ),
        }),
      };
    }
    case "tool":
      return message.content.flatMap((part) =>
        part.type === "tool-result"
          ? [{ role: "tool", tool_call_id: part.toolCallId, name: part.toolName, content: resultText(part) }]
          : [],
      );
  }
}

function textOf(part: { readonly type: string; readonly text?: string }): string {
  if (part.type === "text") return part.text ?? "";
  throw new HalfbyteError("ERR_UNSUPPORTED", "the model reads text only", {
    place: "prompt",
    expected: "parts of type text",
    got: part.type,
  });
}

function resultText({ output }: LanguageModelV3ToolResultPart): string {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value;
    case "json":
    case "error-json":
      return JSON.stringify(output.value);
    case "execution-denied":
      return `The call was not allowed.${output.reason ? ` ${output.reason}` : ""}`;
    case "content":
      return output.value.map((part) => textOf(part)).join("");
  }
}
