/** Turns text that holds no added tokens into entries of a vocabulary. */
export interface TextModel {
  /**
   * Appends the entries of `text` to `ids`. `text` is well formed UTF-16; `start` says that nothing stands before it but
   * tokens that are no text.
   */
  encode(text: string, start: boolean, ids: number[]): void;
}

/** What happens to the stretches of text that a pattern matches: each a piece of its own, dropped, or joined to a neighbour. */
export type SplitBehavior = "Isolated" | "Removed" | "MergedWithPrevious" | "MergedWithNext";

/** Cuts pieces of text further. */
export interface SplitStep {
  readonly pattern: RegExp;
  readonly behavior: SplitBehavior;
  /** The matches are what stands between, and the text between is what is kept. */
  readonly invert: boolean;
}

/** Applies steps one after the other; `pattern` must be global. */
export function splitText(text: string, steps: readonly SplitStep[]): string[] {
  let pieces = [text];
  for (const step of steps) {
    const cut: string[] = [];
    for (const piece of pieces) cutPiece(piece, step, cut);
    pieces = cut;
  }
  return pieces;
}

function cutPiece(text: string, { pattern, behavior, invert }: SplitStep, cut: string[]): void {
  const stretches: { text: string; separator: boolean }[] = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    if (match[0] === "") continue;
    if (match.index > end) stretches.push({ text: text.slice(end, match.index), separator: invert });
    stretches.push({ text: match[0], separator: !invert });
    end = match.index + match[0].length;
  }
  if (end < text.length) stretches.push({ text: text.slice(end), separator: invert });
  if (behavior === "Isolated") {
    for (const stretch of stretches) cut.push(stretch.text);
  } else if (behavior === "Removed") {
    for (const stretch of stretches) if (!stretch.separator) cut.push(stretch.text);
  } else if (behavior === "MergedWithPrevious") {
    let joins = false;
    for (const { text: piece, separator } of stretches) {
      if (separator && joins) cut[cut.length - 1] += piece;
      else cut.push(piece);
      joins = !separator;
    }
  } else {
    let waiting = "";
    for (const { text: piece, separator } of stretches) {
      if (separator) {
        if (waiting) cut.push(waiting);
        waiting = piece;
      } else {
        cut.push(waiting + piece);
        waiting = "";
      }
    }
    if (waiting) cut.push(waiting);
  }
}
