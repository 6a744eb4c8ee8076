import type { Generation } from "../engine/generation.ts";
import type { GeneratedToken, GenerationResult } from "../engine/generation-result.ts";
import type { Model } from "../model.ts";
import { compiledFor } from "./constraint-cache.ts";
import type { Conversation } from "./conversation.ts";
import { choiceOptions } from "./fields.ts";
import type { Call } from "./route.ts";

/** A piece of an answer, as it becomes certain. */
export type AnswerPart =
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "text"; readonly text: string }
  /** A call begins; its arguments follow in pieces. */
  | { readonly type: "tool_call"; readonly index: number; readonly id: string; readonly name: string }
  | { readonly type: "arguments"; readonly index: number; readonly text: string };

export interface AnswerEvent {
  readonly parts: readonly AnswerPart[];
  readonly tokens: readonly GeneratedToken[];
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON. */
  readonly arguments: string;
}

export interface AnswerEnd {
  /** Why it ended, as the APIs say it. */
  readonly reason: "stop" | "length" | "tool_calls";
  readonly result: GenerationResult;
  /** Of the answer's tokens. */
  readonly reasoningTokens: number;
}

export interface CompleteAnswer extends AnswerEnd {
  readonly reasoning: string;
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
}

/** An answer under way. */
export interface Answer {
  readonly promptTokens: number;
  /** Once. Leaving the iteration ends the generation. */
  readonly events: AsyncIterable<AnswerEvent>;
  /** When the events have ended. */
  end(): Promise<AnswerEnd>;
}

/**
 * Starts the answers to a conversation: `choices` of them, all in the queue when this resolves. Throws what the model
 * refuses: a conversation its template does not know, one too long, a queue that is full.
 */
export async function startAnswers(call: Call, model: Model, conversation: Conversation): Promise<Answer[]> {
  const prompt = renderPrompt(model, conversation);
  const { scope, state } = call;
  const constraint = conversation.format && (await compiledFor(model, conversation.format, {}));
  const generations = Array.from({ length: conversation.choices }, (_, index) =>
    model.complete(prompt, {
      ...choiceOptions(conversation.options, index),
      startsText: true,
      timeoutMs: state.limits.timeoutMs,
      signal: scope.branch(),
      ...(constraint && { constraint: constraint.start() }),
    }),
  );
  for (const generation of generations) generation.start();
  return generations.map((generation) => makeAnswer(call, model, generation, prompt.length));
}

/** The tokens that the model sees of a conversation. */
export function renderPrompt(model: Model, conversation: Conversation): Int32Array {
  const { messages, tools, toolChoice, templateVariables, reasoning, prefill = "" } = conversation;
  const shownTools = toolChoice === "none" ? [] : tools;
  const rendered = model.renderChat(messages, {
    ...(shownTools.length > 0 && { tools: shownTools.map((tool) => ({ type: "function", function: tool })) }),
    templateVariables: { ...(reasoning !== undefined && { enable_thinking: reasoning }), ...templateVariables },
  });
  return model.encodeChat(rendered + prefill);
}

function makeAnswer({ state }: Call, model: Model, generation: Generation, promptTokens: number): Answer {
  async function* events(): AsyncGenerator<AnswerEvent, void> {
    const tracked = state.metrics.track(model.info.name, generation.events(), () => generation.result);
    for await (const { text, tokens } of tracked) yield { parts: text ? [{ type: "text", text }] : [], tokens };
  }
  return {
    promptTokens,
    events: events(),
    async end() {
      const result = await generation.result;
      return { reason: result.finishReason === "length" ? "length" : "stop", result, reasoningTokens: 0 };
    },
  };
}

/** The whole of an answer. */
export async function completeAnswer(answer: Answer): Promise<CompleteAnswer> {
  let reasoning = "";
  let text = "";
  const toolCalls: { id: string; name: string; arguments: string }[] = [];
  for await (const { parts } of answer.events)
    for (const part of parts) {
      if (part.type === "reasoning") reasoning += part.text;
      else if (part.type === "text") text += part.text;
      else if (part.type === "tool_call") toolCalls[part.index] = { id: part.id, name: part.name, arguments: "" };
      else toolCalls[part.index]!.arguments += part.text;
    }
  return { reasoning, text, toolCalls, ...(await answer.end()) };
}

/** What several iterations give, as it comes, with the index of each. */
export async function* interleaved<T>(iterables: readonly AsyncIterable<T>[]): AsyncGenerator<[number, T], void> {
  const iterators = iterables.map((each) => each[Symbol.asyncIterator]());
  const next = async (index: number): Promise<[number, IteratorResult<T>]> => [index, await iterators[index]!.next()];
  const pending = new Map(iterators.map((_, index) => [index, next(index)]));
  try {
    while (pending.size > 0) {
      const [index, { done, value }] = await Promise.race(pending.values());
      if (done) pending.delete(index);
      else {
        pending.set(index, next(index));
        yield [index, value];
      }
    }
  } finally {
    for (const each of pending.values()) each.catch(() => {});
    for (const iterator of iterators) void iterator.return?.()?.catch(() => {});
  }
}
