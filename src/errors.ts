/** Stable codes: programs may switch on them; messages may change between versions. */
export type ErrorCode =
  /** The bytes of a file break its format. */
  | "ERR_FORMAT"
  /** The file ends before what it promises. */
  | "ERR_TRUNCATED"
  /** A count, length or size is past a stated limit. */
  | "ERR_LIMIT"
  /** Shapes that should agree do not. */
  | "ERR_SHAPE"
  /** A tensor, key or file that is needed is absent. */
  | "ERR_MISSING"
  /** Valid, but Halfbyte cannot do it. */
  | "ERR_UNSUPPORTED"
  /** The model's architecture is not one Halfbyte knows. */
  | "ERR_UNKNOWN_ARCHITECTURE"
  /** The model has no chat template, and one was asked for. */
  | "ERR_NO_CHAT_TEMPLATE"
  /** The chat template failed or refused the conversation. */
  | "ERR_CHAT_TEMPLATE"
  /** An option or argument is out of its range or of the wrong type. */
  | "ERR_ARGUMENT"
  /** A schema, pattern or grammar is wrong or cannot be enforced, or a token breaks it. */
  | "ERR_GRAMMAR"
  /** The prompt does not fit the context. */
  | "context_length_exceeded"
  /** A logit was NaN or infinite. */
  | "ERR_NON_FINITE"
  /** Memory that was asked for cannot be had. */
  | "ERR_MEMORY"
  /** Too many generations wait already; `retryAfterMs` says when to come again. */
  | "ERR_QUEUE_FULL"
  /** A generation did not end within its time. */
  | "ERR_DEADLINE"
  /** The object was disposed. */
  | "ERR_DISPOSED"
  /** No executor, or not the one asked for, can run here. */
  | "ERR_EXECUTOR"
  /** Reading or writing a file failed. */
  | "ERR_IO"
  /** A download failed. */
  | "ERR_NETWORK"
  /** Bytes do not have the hash they should have. */
  | "ERR_HASH"
  /** No model goes by that name. */
  | "ERR_UNKNOWN_MODEL";

export interface ErrorDetails {
  /** Where: a file, tensor, key or option, with the byte offset if there is one. */
  readonly place?: string;
  readonly expected?: string;
  readonly got?: string;
  /** What the reader can do about it. */
  readonly remedy?: string;
  /** When the same could succeed. */
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

/**
 * The one error class. The message is made of the parts: `place: problem; expected …, got …; remedy`.
 *
 * @example new HalfbyteError("ERR_SHAPE", "wrong number of scales", { place: "blk.0.attn_q.weight", expected: "2048", got: "1024" })
 */
export class HalfbyteError extends Error {
  override readonly name: string = "HalfbyteError";
  readonly code: ErrorCode;
  readonly place: string | undefined;
  readonly expected: string | undefined;
  readonly got: string | undefined;
  readonly remedy: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, problem: string, details: ErrorDetails = {}) {
    const { place, expected, got, remedy, retryAfterMs, cause } = details;
    const comparison = [expected && `expected ${expected}`, got && `got ${got}`].filter(Boolean).join(", ");
    const message = [place ? `${place}: ${problem}` : problem, comparison, remedy].filter(Boolean).join("; ");
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.place = place;
    this.expected = expected;
    this.got = got;
    this.remedy = remedy;
    this.retryAfterMs = retryAfterMs;
  }
}
