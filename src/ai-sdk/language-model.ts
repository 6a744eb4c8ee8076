import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3Content,
  LanguageModelV3FinishReason,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  LanguageModelV3StreamResult,
  LanguageModelV3Usage,
  SharedV3Warning,
} from "@ai-sdk/provider";
import { type Answer, type AnswerEnd, completeAnswer, startAnswers } from "../chat/answer.ts";
import type { AnswerPart } from "../chat/answer-reader.ts";
import type { Conversation, FunctionTool, ToolChoice } from "../chat/conversation.ts";
import type { Model } from "../model.ts";
import { chatMessages } from "./prompt.ts";

/** A loaded model as the AI SDK's language model: in this process, through the model's own engine and queue. */
export class HalfbyteLanguageModel implements LanguageModelV3 {
  readonly specificationVersion = "v3" as const;
  readonly provider: string = "halfbyte";
  readonly modelId: string;
  readonly supportedUrls: Record<string, RegExp[]> = {};
  readonly #model: Model;

  constructor(model: Model, modelId: string = model.info.name) {
    this.#model = model;
    this.modelId = modelId;
  }

  async doGenerate(options: LanguageModelV3CallOptions): Promise<LanguageModelV3GenerateResult> {
    const { answer, warnings } = await this.#start(options);
    const { reasoning, text, toolCalls, ...end } = await completeAnswer(answer);
    const content: LanguageModelV3Content[] = [];
    if (reasoning) content.push({ type: "reasoning", text: reasoning });
    if (text) content.push({ type: "text", text });
    for (const { id, name, arguments: input } of toolCalls)
      content.push({ type: "tool-call", toolCallId: id, toolName: name, input });
    return { content, finishReason: finishReason(end), usage: usage(end), warnings };
  }

  async doStream(options: LanguageModelV3CallOptions): Promise<LanguageModelV3StreamResult> {
    const { answer, warnings } = await this.#start(options);
    const parts = streamParts(answer, warnings);
    const stream = new ReadableStream<LanguageModelV3StreamPart>(
      {
        async pull(controller) {
          const { done, value } = await parts.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
        cancel: () => void parts.return(undefined),
      },
      { highWaterMark: 0 },
    );
    return { stream };
  }

  async #start(options: LanguageModelV3CallOptions): Promise<{ answer: Answer; warnings: SharedV3Warning[] }> {
    const { conversation, warnings } = translate(options);
    const { abortSignal } = options;
    const signal = (): AbortSignal => abortSignal ?? new AbortController().signal;
    const [answer] = await startAnswers({ signal }, this.#model, conversation);
    return { answer: answer!, warnings };
  }
}

function translate(options: LanguageModelV3CallOptions): { conversation: Conversation; warnings: SharedV3Warning[] } {
  const warnings: SharedV3Warning[] = [];
  const tools: FunctionTool[] = [];
  for (const tool of options.tools ?? []) {
    if (tool.type !== "function") warnings.push({ type: "unsupported", feature: `tool ${tool.name} of a provider` });
    else {
      const { name, description, inputSchema } = tool;
      tools.push({
        name,
        ...(description !== undefined && { description }),
        parameters: inputSchema as NonNullable<FunctionTool["parameters"]>,
      });
    }
  }
  const { responseFormat, providerOptions } = options;
  const own = providerOptions?.halfbyte ?? {};
  const conversation: Conversation = {
    messages: chatMessages(options.prompt),
    tools,
    toolChoice: toolChoice(options.toolChoice),
    parallelToolCalls: true,
    format:
      responseFormat?.type !== "json"
        ? undefined
        : responseFormat.schema
          ? { type: "json_schema", schema: responseFormat.schema as Record<string, unknown> }
          : { type: "json_object" },
    reasoning: typeof own.reasoning === "boolean" ? own.reasoning : undefined,
    templateVariables: {},
    options: {
      temperature: options.temperature,
      topP: options.topP,
      topK: options.topK,
      presencePenalty: options.presencePenalty,
      frequencyPenalty: options.frequencyPenalty,
      seed: options.seed,
      ...(options.maxOutputTokens !== undefined && { maxTokens: options.maxOutputTokens }),
      ...(options.stopSequences && { stop: options.stopSequences }),
    },
    choices: 1,
  };
  return { conversation, warnings };
}

function toolChoice(choice: LanguageModelV3CallOptions["toolChoice"]): ToolChoice {
  if (!choice) return "auto";
  return choice.type === "tool" ? { name: choice.toolName } : choice.type;
}

/** An answer's parts between the marks that the AI SDK wants around each run of text, reasoning and arguments. */
async function* streamParts(
  answer: Answer,
  warnings: SharedV3Warning[],
): AsyncGenerator<LanguageModelV3StreamPart, void> {
  yield { type: "stream-start", warnings };
  let open: { kind: "text" | "reasoning"; id: string } | undefined;
  let runs = 0;
  const calls: { id: string; name: string; input: string }[] = [];
  function* close(): Generator<LanguageModelV3StreamPart> {
    if (open) yield { type: `${open.kind}-end`, id: open.id };
    open = undefined;
  }
  function* take(part: AnswerPart): Generator<LanguageModelV3StreamPart> {
    if (part.type === "text" || part.type === "reasoning") {
      if (open?.kind !== part.type) {
        yield* close();
        open = { kind: part.type, id: String(runs++) };
        yield { type: `${part.type}-start`, id: open.id };
      }
      yield { type: `${part.type}-delta`, id: open.id, delta: part.text };
      return;
    }
    yield* close();
    if (part.type === "tool_call") {
      calls[part.index] = { id: part.id, name: part.name, input: "" };
      yield { type: "tool-input-start", id: part.id, toolName: part.name };
    } else {
      const call = calls[part.index]!;
      call.input += part.text;
      yield { type: "tool-input-delta", id: call.id, delta: part.text };
    }
  }
  try {
    for await (const { parts } of answer.events) for (const part of parts) yield* take(part);
    yield* close();
    for (const { id, name, input } of calls) {
      yield { type: "tool-input-end", id };
      yield { type: "tool-call", toolCallId: id, toolName: name, input };
    }
    const end = await answer.end();
    yield { type: "finish", finishReason: finishReason(end), usage: usage(end) };
  } catch (error) {
    yield { type: "error", error };
  }
}

function finishReason({ reason }: AnswerEnd): LanguageModelV3FinishReason {
  return { unified: reason === "tool_calls" ? "tool-calls" : reason, raw: reason };
}

function usage({ result, reasoningTokens }: AnswerEnd): LanguageModelV3Usage {
  const { promptTokens, cachedTokens, completionTokens } = result.usage;
  return {
    inputTokens: {
      total: promptTokens,
      noCache: promptTokens - cachedTokens,
      cacheRead: cachedTokens,
      cacheWrite: undefined,
    },
    outputTokens: {
      total: completionTokens,
      text: completionTokens - reasoningTokens,
      reasoning: reasoningTokens,
    },
  };
}
