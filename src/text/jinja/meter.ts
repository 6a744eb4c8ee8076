import { fail } from "./failure.ts";

/**
 * Bounds of one rendering: a template comes with a model file, and may be made to hang or to fill the memory. A step is
 * one node of the syntax tree, one element of a list, or 16 characters of a string made; an honest template takes a few
 * hundred for each message. Five million take one to three seconds.
 */
const MAX_STEPS = 5_000_000;
/** Added for each character of the conversation: some templates loop over the characters of messages. */
const STEPS_A_CHARACTER = 20;
/** UTF-16 units of any string, the rendered text among them: some two million tokens. */
const MAX_STRING = 1 << 23;
/** Python's own sandbox allows as many numbers in a range. */
export const MAX_RANGE: number = 100_000;
/** Macros calling macros. */
export const MAX_CALL_DEPTH: number = 100;
/** What a call of a macro counts for: it makes scopes and joins its output. */
export const CALL_STEPS: number = 30;

/** Counts the work of one rendering and ends it when it is too much. */
export class Meter {
  #steps = 0;
  #limit: number = MAX_STEPS;

  /** Allows the steps that text given to the template deserves. */
  input(length: number): void {
    this.#limit += length * STEPS_A_CHARACTER;
  }

  step(count = 1): void {
    this.#steps += count;
    if (this.#steps > this.#limit) fail(`rendering took more than ${this.#limit} steps`);
  }

  /** Counts a string about to be made; `length` in UTF-16 units. */
  string(length: number): void {
    this.joined(length);
    this.step(length >> 4);
  }

  /** Counts a concatenation, which JavaScript engines do without copying. */
  joined(length: number): void {
    if (length > MAX_STRING) fail(`a text grew past ${MAX_STRING} characters`);
    this.step();
  }

  /** Counts a search, whose worst case is the product of both lengths. */
  search(text: string, part: string): void {
    this.step(1 + (text.length >> 4) * (1 + (part.length >> 6)));
  }
}
