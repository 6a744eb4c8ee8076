import type { AnswerPart } from "../../chat/answer-reader.ts";
import type { GeneratedToken } from "../../engine/generation-result.ts";
import { newId } from "../new-id.ts";

export type OutputItem =
  | {
      readonly type: "reasoning";
      readonly id: string;
      readonly status: ItemStatus;
      readonly summary: readonly never[];
      readonly content: readonly { readonly type: "reasoning_text"; readonly text: string }[];
    }
  | {
      readonly type: "message";
      readonly id: string;
      readonly status: ItemStatus;
      readonly role: "assistant";
      readonly content: readonly OutputText[];
    }
  | {
      readonly type: "function_call";
      readonly id: string;
      readonly status: ItemStatus;
      readonly call_id: string;
      readonly name: string;
      readonly arguments: string;
    };

export interface OutputText {
  readonly type: "output_text";
  readonly text: string;
  readonly annotations: readonly never[];
  readonly logprobs: readonly unknown[];
}

type ItemStatus = "in_progress" | "completed" | "incomplete";

/** An event of the stream without its number. */
export type OutputEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

/** Turns the parts of an answer into the items of a response, and into the events that tell of them as they grow. */
export class ResponseOutput {
  readonly items: OutputItem[] = [];
  readonly #logprobs: (tokens: readonly GeneratedToken[]) => readonly unknown[];
  #open: OutputItem | undefined;
  #text = "";
  #tokens: GeneratedToken[] = [];
  #said: unknown[] = [];

  /** `logprobs` shows tokens where the client wants to see them. */
  constructor(logprobs: (tokens: readonly GeneratedToken[]) => readonly unknown[]) {
    this.#logprobs = logprobs;
  }

  *add(parts: readonly AnswerPart[], tokens: readonly GeneratedToken[]): Generator<OutputEvent, void> {
    this.#tokens.push(...tokens);
    for (const part of parts) {
      switch (part.type) {
        case "reasoning":
          if (this.#open?.type !== "reasoning") yield* this.#begin(reasoning("", "in_progress"));
          yield this.#grow("response.reasoning_text.delta", part.text, { content_index: 0 });
          break;
        case "text": {
          if (this.#open?.type !== "message") yield* this.#begin(message("", [], "in_progress"));
          const logprobs = this.#logprobs(this.#tokens.splice(0));
          this.#said.push(...logprobs);
          yield this.#grow("response.output_text.delta", part.text, { content_index: 0, logprobs });
          break;
        }
        case "tool_call":
          yield* this.#begin(functionCall(part.id, part.name, "", "in_progress"));
          break;
        case "arguments":
          yield this.#grow("response.function_call_arguments.delta", part.text);
      }
    }
  }

  /** Closes the item under way. */
  *end(status: "completed" | "incomplete" = "completed"): Generator<OutputEvent, void> {
    const item = this.#open;
    if (!item) return;
    this.#open = undefined;
    const { id } = item;
    const text = this.#text;
    this.#said.push(...(item.type === "message" ? this.#logprobs(this.#tokens.splice(0)) : []));
    const logprobs = this.#said;
    const done: OutputItem =
      item.type === "reasoning"
        ? { ...reasoning(text, status), id }
        : item.type === "message"
          ? { ...message(text, logprobs, status), id }
          : { ...item, arguments: text, status };
    const place = { item_id: id, output_index: this.items.length };
    if (done.type === "function_call")
      yield { type: "response.function_call_arguments.done", ...place, name: done.name, arguments: text };
    else {
      const part = done.content[0]!;
      if (done.type === "message")
        yield { type: "response.output_text.done", ...place, content_index: 0, text, logprobs };
      else yield { type: "response.reasoning_text.done", ...place, content_index: 0, text };
      yield { type: "response.content_part.done", ...place, content_index: 0, part };
    }
    yield { type: "response.output_item.done", output_index: this.items.length, item: done };
    this.items.push(done);
  }

  *#begin(item: OutputItem): Generator<OutputEvent, void> {
    yield* this.end();
    this.#open = item;
    this.#text = "";
    this.#said = [];
    const output_index = this.items.length;
    const shown = item.type === "function_call" ? item : { ...item, content: [] };
    yield { type: "response.output_item.added", output_index, item: shown };
    if (item.type !== "function_call")
      yield {
        type: "response.content_part.added",
        item_id: item.id,
        output_index,
        content_index: 0,
        part: item.content[0],
      };
  }

  #grow(type: string, delta: string, fields: object = {}): OutputEvent {
    this.#text += delta;
    return { type, item_id: this.#open!.id, output_index: this.items.length, delta, ...fields };
  }
}

function reasoning(text: string, status: ItemStatus): OutputItem & { type: "reasoning" } {
  return { type: "reasoning", id: newId("rs_"), status, summary: [], content: [{ type: "reasoning_text", text }] };
}

function message(text: string, logprobs: readonly unknown[], status: ItemStatus): OutputItem & { type: "message" } {
  const part: OutputText = { type: "output_text", text, annotations: [], logprobs };
  return { type: "message", id: newId("msg_"), status, role: "assistant", content: [part] };
}

function functionCall(callId: string, name: string, json: string, status: ItemStatus): OutputItem {
  return { type: "function_call", id: newId("fc_"), status, call_id: callId, name, arguments: json };
}
