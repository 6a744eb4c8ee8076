import type { Generation } from "../engine/generation.ts";
import type { GeneratedToken, GenerationEvent, GenerationResult } from "../engine/generation-result.ts";
import type { Model } from "../model.ts";
import { type AnswerPart, AnswerReader } from "./answer-reader.ts";
import { compiledFor } from "./constraint-cache.ts";
import { type Conversation, choiceOptions } from "./conversation.ts";
import { constraintOf, dialectOf } from "./dialect.ts";

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

/** What whoever asks gives to an answer. */
export interface AnswerContext {
  /** A signal for one generation, which ends it. */
  signal(): AbortSignal;
  /** From the start, after which a generation fails with ERR_DEADLINE. */
  readonly timeoutMs?: number;
  /** Looks on while events pass. */
  readonly watch?: (
    events: AsyncIterable<GenerationEvent>,
    result: () => Promise<GenerationResult>,
    promptTokens: number,
  ) => AsyncIterable<GenerationEvent>;
}

/**
 * Starts the answers to a conversation: `choices` of them, all in the queue when this resolves. Throws what the model
 * refuses: a conversation its template does not know, one too long, a queue that is full.
 */
export async function startAnswers(
  context: AnswerContext,
  model: Model,
  conversation: Conversation,
): Promise<Answer[]> {
  const dialect = dialectOf(model, conversation);
  const constraint = constraintOf(dialect, conversation);
  const compiled = constraint && (await compiledFor(model, constraint.spec, constraint.options));
  const { options, choices } = conversation;
  const generations = Array.from({ length: choices }, (_, index) =>
    model.complete(dialect.prompt, {
      ...choiceOptions(options, index),
      startsText: true,
      ...(context.timeoutMs !== undefined && { timeoutMs: context.timeoutMs }),
      signal: context.signal(),
      ...(compiled && { constraint: compiled.start() }),
    }),
  );
  for (const generation of generations) generation.start();
  const readerOptions = { stop: [options.stop ?? []].flat(), oneCall: !conversation.parallelToolCalls };
  return generations.map((generation) =>
    makeAnswer(context, generation, new AnswerReader(dialect, model.tokenizer, readerOptions), dialect.prompt.length),
  );
}

function makeAnswer(
  { watch = (events) => events }: AnswerContext,
  generation: Generation,
  reader: AnswerReader,
  promptTokens: number,
): Answer {
  async function* events(): AsyncGenerator<AnswerEvent, void> {
    const watched = watch(generation.events(), () => generation.result, promptTokens);
    for await (const event of watched) yield { parts: reader.read(event), tokens: event.tokens };
    const parts = reader.end();
    if (parts.length > 0) yield { parts, tokens: [] };
  }
  return {
    promptTokens,
    events: events(),
    async end() {
      const result = await generation.result;
      const { calls, reasoningTokens } = reader;
      const reason = result.finishReason === "length" ? "length" : calls > 0 ? "tool_calls" : "stop";
      return { reason, result, reasoningTokens };
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
