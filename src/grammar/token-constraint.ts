/** What may come next in one answer: a mask over the vocabulary that follows the tokens chosen so far. */
export interface TokenConstraint {
  /**
   * Bits of the tokens allowed next, [ceil(vocabulary / 32)] words (bit id % 32 of word id / 32); undefined allows all.
   * Valid until the next `accept`, and not to be written to.
   */
  mask(): Uint32Array | undefined;
  /** Takes the token that was chosen. Throws ERR_GRAMMAR for one that is not allowed. */
  accept(id: number): void;
  /** Nothing may follow but the end. */
  readonly ended: boolean;
  /** A constraint at the same place that goes its own way from here. */
  clone(): TokenConstraint;
}

/** A language that answers must be of. */
export type ConstraintSpec =
  /** JSON that is valid by a schema (draft 2020-12, or what older drafts have in common with it). */
  | { readonly type: "json_schema"; readonly schema: unknown }
  /** Any JSON object. */
  | { readonly type: "json_object" }
  /** Text that a regular expression (of ECMAScript, unicode mode) matches from its beginning to its end. */
  | { readonly type: "regex"; readonly pattern: string }
  /** Text that the rule `root` of a grammar in llama.cpp's notation derives. */
  | { readonly type: "gbnf"; readonly grammar: string }
  /** Calls of tools, in a model's own way of writing them. */
  | {
      readonly type: "tool_calls";
      readonly tools: readonly CallableTool[];
      readonly syntax: ToolCallSyntax;
      /** Calls at most; default 1. */
      readonly maxCalls?: number;
    };

/** A tool by its name; `parameters` is the schema of its arguments, an object's; default no arguments. */
export interface CallableTool {
  readonly name: string;
  readonly parameters?: unknown;
}

export interface ToolCallSyntax {
  /** Around each call, or around the list of them. */
  readonly open: string;
  readonly close: string;
  /** Between calls that are no list. */
  readonly between: string;
  /** Calls stand in a JSON array. */
  readonly list: boolean;
  readonly argumentsKey: "arguments" | "parameters";
}

export interface ConstraintOptions {
  /** The model reasons first: what it writes until `close` is free, but for an end, and the language begins after it. */
  readonly reasoning?: ReasoningMarks | undefined;
  /** Special tokens that the answer may use where the language has their text, as marks of tool calls. Default none. */
  readonly markers?: readonly string[];
  /** A space in front of the answer is not part of it; so with SentencePiece when the answer starts a text. Default false. */
  readonly dropsFirstSpace?: boolean;
  /** Logits the model gives, if they are more than the tokenizer has tokens. */
  readonly vocabularySize?: number;
}

export interface ReasoningMarks {
  /** `</think>` and the like. */
  readonly close: string;
  /** Given where the prompt does not open the reasoning: the answer begins with this text, or does without reasoning. */
  readonly open?: string;
}

/** A compiled language: makes constraints for as many answers as wanted, which share what they find out about it. */
export interface CompiledConstraint {
  start(): TokenConstraint;
}
