import { HalfbyteError } from "../errors.ts";

export interface StopResult {
  /** Text that may be shown now. */
  readonly text: string;
  /** The stop string that is complete, if one is; nothing after it is ever shown. */
  readonly stop: string | undefined;
}

/**
 * Finds stop strings in text that comes in pieces cut anywhere. It holds back only what could be the beginning of a
 * stop string. The string that is complete first wins, and among those that end together the longest.
 */
export class StopMatcher {
  readonly #stops: readonly StopState[];
  #held = "";
  #stop: string | undefined;

  /** Throws ERR_ARGUMENT for an empty stop string. */
  constructor(stops: readonly string[]) {
    if (stops.includes("")) throw new HalfbyteError("ERR_ARGUMENT", "a stop string is empty", { place: "stop" });
    this.#stops = stops.map((text) => new StopState(text));
  }

  /** Takes the next piece. After a stop string was complete it gives no more text. */
  push(piece: string): StopResult {
    if (this.#stop !== undefined) return { text: "", stop: this.#stop };
    this.#held += piece;
    const start = this.#held.length - piece.length;
    for (let at = start; at < this.#held.length; at++) {
      let longest = "";
      for (const state of this.#stops) {
        if (state.advance(this.#held.charCodeAt(at)) && state.text.length > longest.length) longest = state.text;
      }
      if (longest) {
        const text = this.#held.slice(0, at + 1 - longest.length);
        this.#held = "";
        this.#stop = longest;
        return { text, stop: longest };
      }
    }
    let kept = 0;
    for (const state of this.#stops) kept = Math.max(kept, state.matched);
    const text = this.#held.slice(0, this.#held.length - kept);
    this.#held = this.#held.slice(this.#held.length - kept);
    return { text, stop: undefined };
  }

  /** The text has ended: gives what was held back. */
  flush(): string {
    const text = this.#held;
    this.#held = "";
    for (const state of this.#stops) state.matched = 0;
    return text;
  }
}

/** How much of one stop string the text ends with, by Knuth, Morris and Pratt. */
class StopState {
  readonly text: string;
  matched = 0;
  readonly #borders: Int32Array;

  constructor(text: string) {
    this.text = text;
    this.#borders = new Int32Array(text.length);
    for (let i = 1, border = 0; i < text.length; i++) {
      while (border > 0 && text.charCodeAt(i) !== text.charCodeAt(border)) border = this.#borders[border - 1]!;
      if (text.charCodeAt(i) === text.charCodeAt(border)) border++;
      this.#borders[i] = border;
    }
  }

  /** Takes the next unit of the text; true when it completes the stop string. */
  advance(unit: number): boolean {
    while (this.matched > 0 && unit !== this.text.charCodeAt(this.matched)) {
      this.matched = this.#borders[this.matched - 1]!;
    }
    if (unit === this.text.charCodeAt(this.matched)) this.matched++;
    return this.matched === this.text.length;
  }
}
