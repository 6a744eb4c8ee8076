import { HalfbyteError } from "../errors.ts";
import { shown } from "../formats/shown.ts";
import { type NamePattern, namePattern, StepBudget } from "./name-pattern.ts";
import type { Notes } from "./notes.ts";

/** Patterns in use are some ten. */
const MAX_PATTERNS = 1024;

/** Names of matrices, as configurations list them: plain, or a regular expression after `re:`. */
export class NameList {
  readonly #names = new Set<string>();
  readonly #patterns: NamePattern[] = [];
  readonly #place: string;
  readonly #budget = new StepBudget();

  /** What cannot be understood is noted and left out. Throws ERR_LIMIT for too many patterns. */
  constructor(entries: readonly string[], place: string, notes: Notes) {
    this.#place = place;
    for (const entry of entries) {
      if (!entry.startsWith("re:")) this.#names.add(entry);
      else {
        const pattern = namePattern(entry.slice(3));
        if (pattern) this.#patterns.push(pattern);
        else notes.add("pattern not understood, only the tensors tell which matrices it means", shown(entry));
      }
    }
    if (this.#patterns.length > MAX_PATTERNS)
      throw new HalfbyteError("ERR_LIMIT", `more than ${MAX_PATTERNS} patterns`, { place });
  }

  /** The whole name, or a pattern from its start. Throws ERR_LIMIT where patterns take too long. */
  has(name: string): boolean {
    return this.#names.has(name) || this.#matches(name);
  }

  /** Also a name's end, from after a dot on. */
  endOf(name: string): boolean {
    for (let at = 0; at >= 0; at = name.indexOf(".", at) + 1 || -1) if (this.#names.has(name.slice(at))) return true;
    return this.#matches(name);
  }

  #matches(name: string): boolean {
    const found = this.#patterns.some((pattern) => pattern.matches(name, this.#budget));
    if (this.#budget.left >= 0) return found;
    throw new HalfbyteError("ERR_LIMIT", "patterns take too long", { place: this.#place });
  }
}
