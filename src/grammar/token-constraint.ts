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
  | { readonly type: "gbnf"; readonly grammar: string };

export interface ConstraintOptions {
  /**
   * The language begins after this text; before it everything may come but the end of the answer. For models that reason
   * first: `</think>`.
   */
  readonly after?: string;
}

/** A compiled language: makes constraints for as many answers as wanted, which share what they find out about it. */
export interface CompiledConstraint {
  start(): TokenConstraint;
}
