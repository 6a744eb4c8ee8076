import type { GenerationEvent } from "../engine/generation-result.ts";
import { IncrementalDetokenizer } from "../text/incremental-detokenizer.ts";
import { ReasoningSplitter, type SplitPiece } from "../text/reasoning/reasoning-splitter.ts";
import { StopMatcher } from "../text/stop-matcher.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import { type ToolCallDelta, ToolCallParser, type ToolCallPiece } from "../text/tool-calls/tool-call-parser.ts";
import type { Dialect } from "./dialect.ts";

/** A piece of an answer, as it becomes certain. */
export type AnswerPart =
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "text"; readonly text: string }
  /** A call begins; its arguments follow in pieces. */
  | { readonly type: "tool_call"; readonly index: number; readonly id: string; readonly name: string }
  | { readonly type: "arguments"; readonly index: number; readonly text: string };

export interface ReaderOptions {
  readonly stop: readonly string[];
  /** Further calls than the first are dropped. */
  readonly oneCall: boolean;
}

/** Splits what a model writes into reasoning, text and calls. */
export class AnswerReader {
  /** Of the tokens read. */
  reasoningTokens = 0;
  calls = 0;
  readonly #marked: MarkedText | undefined;
  readonly #splitter: ReasoningSplitter | undefined;
  readonly #parser: ToolCallParser | undefined;
  readonly #oneCall: boolean;
  #answering: boolean;
  #reasoned = false;

  constructor(dialect: Dialect, tokenizer: Tokenizer, { stop, oneCall }: ReaderOptions) {
    const { reasoning, opened, calls, markers } = dialect;
    this.#marked = markers.size > 0 ? new MarkedText(tokenizer, markers, stop) : undefined;
    this.#splitter = reasoning && new ReasoningSplitter(reasoning, opened);
    this.#parser = calls && new ToolCallParser(calls);
    this.#oneCall = oneCall;
    this.#answering = reasoning === undefined;
  }

  read({ text, tokens }: GenerationEvent): AnswerPart[] {
    if (!this.#answering) this.reasoningTokens += tokens.length;
    return this.#parts(this.#marked ? tokens.map(({ id }) => this.#marked!.push(id)).join("") : text, false);
  }

  /** The answer has ended. */
  end(): AnswerPart[] {
    return this.#parts(this.#marked?.flush() ?? "", true);
  }

  #parts(text: string, last: boolean): AnswerPart[] {
    const { reasoning, text: rest } = this.#split(text, last);
    const pieces = this.#parse(rest, last);
    const parts: AnswerPart[] = reasoning ? [{ type: "reasoning", text: reasoning }] : [];
    for (const { text, calls } of pieces) {
      if (text) parts.push({ type: "text", text });
      for (const call of calls) parts.push(...this.#call(call));
    }
    this.#reasoned ||= reasoning !== "";
    if (parts.some(({ type }) => type !== "reasoning")) this.#answering = true;
    // No mark came: nothing was reasoning.
    if (!this.#reasoned && (this.#answering || last)) this.reasoningTokens = 0;
    return parts;
  }

  #call({ index, id, name, arguments: more }: ToolCallDelta): AnswerPart[] {
    if (this.#oneCall && index > 0) return [];
    this.calls = Math.max(this.calls, index + 1);
    return [
      ...(id !== undefined && name !== undefined ? [{ type: "tool_call", index, id, name } as const] : []),
      ...(more ? [{ type: "arguments", index, text: more } as const] : []),
    ];
  }

  #split(text: string, last: boolean): SplitPiece {
    if (!this.#splitter) return { reasoning: "", text };
    const piece = this.#splitter.push(text);
    if (!last) return piece;
    const rest = this.#splitter.flush();
    return { reasoning: piece.reasoning + rest.reasoning, text: piece.text + rest.text };
  }

  #parse(text: string, last: boolean): ToolCallPiece[] {
    if (!this.#parser) return [{ text, calls: [] }];
    return [this.#parser.push(text), ...(last ? [this.#parser.flush()] : [])];
  }
}

/** Text with the marks in it that are special tokens, which the engine leaves out of its own. */
class MarkedText {
  readonly #detokenizer: IncrementalDetokenizer;
  readonly #stops: StopMatcher;
  readonly #skipped: ReadonlySet<number>;

  constructor(tokenizer: Tokenizer, markers: ReadonlyMap<number, string>, stop: readonly string[]) {
    const { stripsLeadingSpace, endOfGenerationIds } = tokenizer;
    this.#detokenizer = new IncrementalDetokenizer(
      {
        stripsLeadingSpace,
        tokenBytes: (id) => tokenizer.tokenBytes(id),
        isSpecial: (id) => tokenizer.isSpecial(id) && !markers.has(id),
      },
      { skipSpecial: true },
    );
    this.#stops = new StopMatcher(stop);
    this.#skipped = endOfGenerationIds;
  }

  push(id: number): string {
    return this.#skipped.has(id) ? "" : this.#stops.push(this.#detokenizer.push(id)).text;
  }

  flush(): string {
    const { text, stop } = this.#stops.push(this.#detokenizer.flush());
    return stop === undefined ? text + this.#stops.flush() : text;
  }
}
