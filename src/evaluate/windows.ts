import { HalfbyteError } from "../errors.ts";

/** Tokens a model sees at once, of which the last are predicted. */
export interface Window {
  /** What is fed: perhaps a beginning token, then the text's; the last token that is predicted is not among them. */
  readonly ids: Int32Array;
  /** What is predicted, in order: the last row of `ids` predicts the last of them. */
  readonly next: Int32Array;
}

export interface WindowOptions {
  /** Tokens of a window, the beginning token among them. */
  readonly window: number;
  /** Tokens by which a window goes on from the one before. */
  readonly stride: number;
  /** Stands before each window where the model wants it. */
  readonly bosId: number | undefined;
}

/**
 * Cuts a text so that each of its tokens is predicted once, but those that have nothing before them. Windows after the
 * first give their first `window − stride` tokens as context alone: these have been predicted in the window before.
 *
 * Throws ERR_ARGUMENT for a text, window or stride that leaves nothing to predict.
 */
export function windowsOf(text: Int32Array, { window, stride, bosId }: WindowOptions): Window[] {
  const before = bosId === undefined ? [] : [bosId];
  const width = window - before.length;
  if (!(Number.isSafeInteger(window) && window >= 2)) throw unusable("window", "2 tokens or more", window);
  if (!(Number.isSafeInteger(stride) && stride >= 1 && stride <= width))
    throw unusable("stride", `1 to ${width}, what a window has of the text`, stride);
  const windows: Window[] = [];
  for (let predicted = 0; predicted < text.length; ) {
    const start = predicted === 0 ? 0 : predicted - (width - stride);
    const end = Math.min(start + width, text.length);
    const first = Math.max(predicted, start + 1 - before.length);
    predicted = end;
    if (first >= end) continue;
    const ids = Int32Array.of(...before, ...text.subarray(start, end - 1));
    windows.push({ ids, next: text.slice(first, end) });
  }
  if (windows.length > 0) return windows;
  throw new HalfbyteError("ERR_ARGUMENT", "the text is too short to measure anything on", {
    place: "text",
    expected: `${2 - before.length} tokens or more`,
    got: String(text.length),
  });
}

function unusable(place: string, expected: string, got: number): HalfbyteError {
  return new HalfbyteError("ERR_ARGUMENT", "unusable size", { place, expected, got: String(got) });
}
