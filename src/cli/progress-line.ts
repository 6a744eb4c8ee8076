import { formatBytes, formatDuration } from "./format.ts";
import type { OutputStream } from "./terminal-text.ts";

const BAR_WIDTH = 24;
const MIN_INTERVAL_MS = 80;
/** Where there is no terminal: a line whenever so much more is done. */
const STEP_WITHOUT_TERMINAL = 0.25;
/** Rates before this are noise. */
const MIN_RATE_MS = 500;

const ERASE_LINE = "\r\x1b[2K";

/** Progress, in bytes unless `format` says otherwise: a bar on one line of a terminal, elsewhere a few lines. */
export class ProgressLine {
  readonly #stream: OutputStream;
  readonly #now: () => number;
  readonly #format: (amount: number) => string;
  #label: string | undefined;
  #startedAt = 0;
  #firstDone = 0;
  #shownAt = 0;
  #shownPart = 0;
  #onScreen = false;

  constructor(
    stream: OutputStream,
    now: () => number = () => performance.now(),
    format: (amount: number) => string = formatBytes,
  ) {
    this.#stream = stream;
    this.#now = now;
    this.#format = format;
  }

  /** Shows how far `label` is; a new label begins a new bar. */
  update(label: string, done: number, total: number | undefined): void {
    const now = this.#now();
    const isNew = label !== this.#label;
    if (isNew) {
      this.#label = label;
      this.#startedAt = now;
      this.#firstDone = done;
      this.#shownPart = 0;
    }
    if (this.#stream.isTTY) {
      if (!isNew && done !== total && now - this.#shownAt < MIN_INTERVAL_MS) return;
      this.#shownAt = now;
      this.#draw(this.#line(label, done, total, now));
      return;
    }
    const part = total ? done / total : 0;
    if (isNew) this.#stream.write(`${label}${total ? `: ${this.#format(total)}` : ""}\n`);
    else if (part - this.#shownPart >= STEP_WITHOUT_TERMINAL) this.#stream.write(`${label}: ${percent(part)}\n`);
    else return;
    this.#shownPart = part;
  }

  /** Takes the bar off the screen; what follows begins on an empty line. */
  clear(): void {
    if (this.#onScreen) this.#stream.write(ERASE_LINE);
    this.#onScreen = false;
    this.#label = undefined;
  }

  #draw(line: string): void {
    // A line as wide as the terminal would wrap and could not be erased.
    const width = Math.max(10, (this.#stream.columns || 80) - 1);
    this.#stream.write(ERASE_LINE + line.slice(0, width));
    this.#onScreen = true;
  }

  #line(label: string, done: number, total: number | undefined, now: number): string {
    if (!total) return done ? `${label}  ${this.#format(done)}` : label;
    const part = Math.min(1, done / total);
    const filled = Math.floor(part * BAR_WIDTH);
    const bar = `[${"#".repeat(filled)}${".".repeat(BAR_WIDTH - filled)}]`;
    // The label comes last: sources have long names, and what does not fit is cut.
    return `${bar} ${percent(part).padStart(5)}  ${this.#format(done)} of ${this.#format(total)}${this.#rate(done, total, now)}  ${label}`;
  }

  #rate(done: number, total: number, now: number): string {
    const elapsed = now - this.#startedAt;
    if (elapsed < MIN_RATE_MS || done <= this.#firstDone) return "";
    const perMs = (done - this.#firstDone) / elapsed;
    const left = done < total ? `, ${formatDuration((total - done) / perMs)} left` : "";
    return `  ${this.#format(perMs * 1000)}/s${left}`;
  }
}

function percent(part: number): string {
  return `${Math.floor(part * 100)} %`;
}
