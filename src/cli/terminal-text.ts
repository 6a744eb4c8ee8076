import { styleText } from "node:util";

/** C0 (but tab and newline), delete and C1: with these a text could move the cursor, rename the window or answer queries. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;
/** The same with tab, newline, line and paragraph separators, and the marks that turn the direction of text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const NOT_IN_A_LINE = /[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** A model's text without what would drive a terminal. Each character stands for itself, so pieces may come in any cut. */
export function withoutControls(text: string): string {
  return text.replace(CONTROLS, "");
}

/** Text out of a file for one line of output: control characters by their escapes, long texts cut. */
export function oneLine(text: string, maxLength: number = Number.POSITIVE_INFINITY): string {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text;
  return cut.replace(NOT_IN_A_LINE, escaped);
}

/** As `oneLine`, without what follows a line break. */
export function firstLine(text: string): string {
  return oneLine(text.split("\n")[0]!);
}

function escaped(character: string): string {
  if (character === "\n") return "\\n";
  if (character === "\t") return "\\t";
  if (character === "\r") return "\\r";
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** What is asked of an output stream here; `process.stdout` and `process.stderr` are such. */
export interface OutputStream {
  write(text: string): boolean;
  readonly isTTY?: boolean;
  readonly columns?: number;
  hasColors?(): boolean;
}

export type Style = "bold" | "dim" | "red" | "green" | "yellow";

/** Styled where the stream is a terminal with colours and NO_COLOR is not set. */
export function styled(stream: OutputStream, style: Style, text: string): string {
  if (!stream.isTTY || !stream.hasColors?.()) return text;
  // The stream has been asked; Node's own check looks at stdout alone.
  return styleText(style, text, { validateStream: false });
}
