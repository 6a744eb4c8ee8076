/** Turns text that holds no added tokens into entries of a vocabulary. */
export interface TextModel {
  /** The form in which the model sees text, which is well formed UTF-16. */
  normalize(text: string): string;
  /** Appends the entries of normalized text to `ids`; `start` says that nothing stands before it. */
  encode(text: string, start: boolean, ids: number[]): void;
}

/** Cuts one piece of text further, or changes it. */
export type SplitStep = (piece: string) => readonly string[];

/** Applies steps one after the other, each to the pieces that the one before left. */
export function splitText(text: string, steps: readonly SplitStep[]): readonly string[] {
  let pieces: readonly string[] = [text];
  for (const step of steps) pieces = pieces.length === 1 ? step(pieces[0]!) : pieces.flatMap(step);
  return pieces;
}

/** A space in front of each piece that does not begin with one. */
export function spaceInFront(piece: string): readonly string[] {
  return [piece.startsWith(" ") ? piece : ` ${piece}`];
}

/** What happens to the stretches that a pattern matches: each a piece of its own, dropped, or joined to a neighbour. */
export type SplitBehavior = "Isolated" | "Removed" | "MergedWithPrevious" | "MergedWithNext";

/** Cuts at what a global pattern, which never matches nothing, matches; with `invert` at what stands between. */
export function splitBy(pattern: RegExp, behavior: SplitBehavior = "Isolated", invert = false): SplitStep {
  return (piece) => join(stretches(piece, pattern, invert), behavior);
}

interface Stretch {
  readonly text: string;
  readonly separator: boolean;
}

function stretches(text: string, pattern: RegExp, invert: boolean): Stretch[] {
  const found: Stretch[] = [];
  let end = 0;
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match && match[0] !== ""; match = pattern.exec(text)) {
    if (match.index > end) found.push({ text: text.slice(end, match.index), separator: invert });
    found.push({ text: match[0], separator: !invert });
    end = match.index + match[0].length;
  }
  if (end < text.length) found.push({ text: text.slice(end), separator: invert });
  return found;
}

function join(found: readonly Stretch[], behavior: SplitBehavior): string[] {
  switch (behavior) {
    case "Isolated":
      return found.map(({ text }) => text);
    case "Removed":
      return found.filter(({ separator }) => !separator).map(({ text }) => text);
    case "MergedWithPrevious": {
      const pieces: string[] = [];
      for (const [i, { text, separator }] of found.entries()) {
        if (separator && i > 0 && !found[i - 1]!.separator) pieces[pieces.length - 1] += text;
        else pieces.push(text);
      }
      return pieces;
    }
    case "MergedWithNext": {
      const pieces: string[] = [];
      for (const [i, { text, separator }] of found.entries()) {
        if (!separator && i > 0 && found[i - 1]!.separator) pieces[pieces.length - 1] += text;
        else pieces.push(text);
      }
      return pieces;
    }
  }
}
