/** The marks between which a model reasons. */
export interface ReasoningFormat {
  readonly open: string;
  readonly close: string;
}

/** What of an answer is reasoning, and what is meant for the reader. */
export interface SplitPiece {
  readonly reasoning: string;
  readonly text: string;
}

const FORMATS: readonly ReasoningFormat[] = [
  { open: "<think>", close: "</think>" },
  { open: "[THINK]", close: "[/THINK]" },
  { open: "<seed:think>", close: "</seed:think>" },
];

/** The marks that a chat template knows; undefined for a model that does not reason. */
export function detectReasoning(templateSource: string): ReasoningFormat | undefined {
  return FORMATS.find(({ close }) => templateSource.includes(close));
}

/** Does a rendered prompt leave the reasoning open, so that the answer goes on with it? */
export function opensReasoning(prompt: string, { open }: ReasoningFormat): boolean {
  return prompt.trimEnd().endsWith(open);
}

/**
 * Splits an answer that comes in pieces cut anywhere. Reasoning stands at its beginning, if at all: what looks like a
 * mark later on is text. White space around the reasoning belongs to neither part. Half a mark is never given as either.
 */
export class ReasoningSplitter {
  readonly #format: ReasoningFormat;
  #state: "start" | "reasoning" | "after" | "text";
  #held = "";
  /** White space at the beginning of the reasoning is still being dropped. */
  #leads: boolean;

  /** `opened`: the prompt has the opening mark already. */
  constructor(format: ReasoningFormat, opened: boolean) {
    this.#format = format;
    this.#state = opened ? "reasoning" : "start";
    this.#leads = opened;
  }

  push(piece: string): SplitPiece {
    this.#held += piece;
    let reasoning = "";
    let text = "";
    if (this.#state === "start") this.#findOpening();
    if (this.#state === "reasoning") reasoning = this.#readReasoning();
    if (this.#state === "after") this.#skipSpace();
    if (this.#state === "text") {
      text = this.#held;
      this.#held = "";
    }
    return { reasoning, text };
  }

  /** The answer has ended: gives what was held back. */
  flush(): SplitPiece {
    const held = this.#held;
    const state = this.#state;
    this.#held = "";
    this.#state = "text";
    if (state === "reasoning") return { reasoning: held.trimEnd(), text: "" };
    return { reasoning: "", text: state === "after" ? "" : held };
  }

  #findOpening(): void {
    const { open } = this.#format;
    const begun = this.#held.trimStart();
    if (begun.startsWith(open)) {
      this.#held = begun.slice(open.length);
      this.#state = "reasoning";
      this.#leads = true;
    } else if (!open.startsWith(begun)) this.#state = "text";
  }

  #readReasoning(): string {
    const { close } = this.#format;
    if (this.#leads) this.#held = this.#held.trimStart();
    if (this.#held !== "") this.#leads = false;
    const end = this.#held.indexOf(close);
    if (end >= 0) {
      const reasoning = this.#held.slice(0, end).trimEnd();
      this.#held = this.#held.slice(end + close.length);
      this.#state = "after";
      return reasoning;
    }
    // White space before the closing mark goes away, so both are held back together.
    const kept = this.#held.slice(0, this.#held.length - partialMark(this.#held, close)).trimEnd().length;
    const reasoning = this.#held.slice(0, kept);
    this.#held = this.#held.slice(kept);
    return reasoning;
  }

  #skipSpace(): void {
    this.#held = this.#held.trimStart();
    if (this.#held !== "") this.#state = "text";
  }
}

/** How many characters at the end of a text could be the beginning of a mark. */
export function partialMark(text: string, mark: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length--)
    if (text.endsWith(mark.slice(0, length))) return length;
  return 0;
}
