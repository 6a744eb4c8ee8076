import { partialMark } from "../reasoning/reasoning-splitter.ts";
import { CallReader } from "./call-reader.ts";
import type { ToolCallFormat } from "./tool-call-format.ts";

/** News of one call: its id and name when it begins, then pieces of its arguments. */
export interface ToolCallDelta {
  /** Of the call among the answer's calls, from 0. */
  readonly index: number;
  readonly id?: string;
  readonly name?: string;
  /** The next piece of the arguments' JSON. */
  readonly arguments?: string;
}

export interface ToolCallPiece {
  readonly text: string;
  readonly calls: readonly ToolCallDelta[];
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON of an object. */
  readonly arguments: string;
}

const FENCE = "```";

/**
 * Finds calls of tools in an answer that comes in pieces cut anywhere. Text outside calls is given as it comes, but for
 * what may be the beginning of a mark, and for white space before and between calls. What begins as a call and is none
 * comes back as text; once a name was given the call stands, even if its arguments break off.
 */
export class ToolCallParser {
  readonly #format: ToolCallFormat;
  readonly #newId: () => string;
  #state: "start" | "text" | "fence" | "opened" | "name" | "call" | "between" = "start";
  /** Characters not given yet: text that may be a mark, or the beginning of what may be a call. */
  #held = "";
  #reader = new CallReader();
  #count = 0;
  /** The reader's call was announced. */
  #named = false;
  /** Calls stand in a list, in a block of code, or behind a mark. */
  #list = false;
  #fenced = false;
  #marked = false;
  #name = "";
  #text = "";
  #calls: ToolCallDelta[] = [];

  /** `newId` makes ids; by default random ones as the format wants them. */
  constructor(format: ToolCallFormat, newId: () => string = () => randomId(format)) {
    this.#format = format;
    this.#newId = newId;
    if (!format.bare && !format.fenced) this.#state = "text";
  }

  push(piece: string): ToolCallPiece {
    for (const character of piece) this.#take(character);
    if (this.#state === "text") this.#giveText();
    return this.#news();
  }

  /** The answer has ended: gives what was held back. */
  flush(): ToolCallPiece {
    if (this.#state === "between") this.#held = "";
    else if (this.#state !== "call" || !this.#named) this.#fail();
    this.#text += this.#state === "text" ? this.#held : "";
    this.#held = "";
    return this.#news();
  }

  #news(): ToolCallPiece {
    const news = { text: this.#text, calls: mergeDeltas(this.#calls) };
    this.#text = "";
    this.#calls = [];
    return news;
  }

  #take(character: string): void {
    this.#held += character;
    switch (this.#state) {
      case "start":
        this.#start(character);
        break;
      case "text":
        this.#findMark();
        break;
      case "fence":
        this.#readFence(character);
        break;
      case "opened":
        this.#open(character);
        break;
      case "name":
        this.#readName(character);
        break;
      case "call":
        this.#read(character);
        break;
      case "between":
        this.#goOn(character);
        break;
    }
  }

  /** Nothing but white space has come. */
  #start(character: string): void {
    const { open = "", bare, fenced } = this.#format;
    const begun = this.#held.trimStart();
    if (begun === "") return;
    if (begun === open) this.#enter();
    else if (fenced && begun === FENCE) this.#state = "fence";
    else if (bare && begun === "{") this.#begin(character);
    else if (bare && /^\[\s*\{$/.test(begun)) {
      this.#list = true;
      this.#begin(character);
    } else {
      const undecided =
        open.startsWith(begun) || (fenced && FENCE.startsWith(begun)) || (bare && /^\[\s*$/.test(begun));
      if (!undecided) this.#state = "text";
    }
  }

  #findMark(): void {
    const { open } = this.#format;
    if (open !== undefined && this.#held.endsWith(open)) {
      this.#text += this.#held.slice(0, -open.length).trimEnd();
      this.#held = open;
      this.#enter();
    }
  }

  #enter(): void {
    this.#marked = true;
    this.#state = "opened";
  }

  /** After ```: the language, to the end of the line. */
  #readFence(character: string): void {
    if (character === "\n") {
      this.#fenced = true;
      this.#state = "opened";
    } else if (!/^\s*`{3}[a-z_]{0,12}$/.test(this.#held)) this.#fail();
  }

  /** Where a call or a list of calls must begin. */
  #open(character: string): void {
    if (/\s/.test(character)) this.#state = "opened";
    else if (character === "[" && !this.#list) {
      this.#list = true;
      this.#state = "opened";
    } else if (character === "{") this.#begin(character);
    else if (this.#marked && !this.#list && this.#format.family === "mistral" && /\w/.test(character)) {
      this.#state = "name";
      this.#name = character;
    } else this.#fail();
  }

  /** Mistral's newer way: the name, a mark, and the arguments alone. */
  #readName(character: string): void {
    if (character !== "{") {
      this.#name += character;
      if (this.#name.length > 256) this.#fail();
      return;
    }
    const name = /^([\w.-]+)(?:\[CALL_ID\]\w+)?(?:\[ARGS\])?\s*$/.exec(this.#name)?.[1];
    if (name === undefined) {
      this.#fail();
      return;
    }
    this.#reader = new CallReader();
    this.#reader.takeName(name);
    this.#announce(name);
    this.#state = "call";
    this.#read(character);
  }

  #begin(character: string): void {
    this.#reader = new CallReader();
    this.#named = false;
    this.#state = "call";
    this.#read(character);
  }

  #announce(name: string): void {
    this.#named = true;
    this.#calls.push({ index: this.#count, id: this.#newId(), name });
  }

  #read(character: string): void {
    const news = this.#reader.push(character);
    if (this.#reader.state === "malformed" && !this.#named) {
      this.#fail();
      return;
    }
    if (news.name !== undefined) this.#announce(news.name);
    if (news.arguments !== undefined) this.#calls.push({ index: this.#count, arguments: news.arguments });
    if (this.#reader.state === "reading") return;
    this.#held = "";
    this.#named = false;
    this.#count++;
    this.#state = this.#reader.state === "done" ? "between" : "text";
  }

  /** After a call: another one, the end of the list or block, or text again. */
  #goOn(character: string): void {
    const { open = "", close = "" } = this.#format;
    const begun = this.#held.trimStart();
    if (begun === "") return;
    const marks = [open, close, this.#fenced ? FENCE : "", this.#list ? "]" : ""];
    if (begun === (this.#list ? "," : ";") && close === "") {
      this.#held = "";
      this.#state = "opened";
    } else if (begun === "{" && close === "") this.#begin(character);
    else if (begun === open) this.#enter();
    else if (marks.includes(begun)) {
      if (begun === "]") this.#list = false;
      if (begun === FENCE) this.#fenced = false;
      this.#held = "";
    } else if (!marks.some((mark) => mark.startsWith(begun))) this.#fail();
  }

  /** It was no call after all. */
  #fail(): void {
    this.#list = this.#fenced = this.#marked = false;
    this.#state = "text";
    this.#giveText();
  }

  #giveText(): void {
    const { open } = this.#format;
    const text = this.#held;
    // White space before a mark goes away, so it is held back with what may be one.
    const kept =
      open === undefined ? text.length : text.slice(0, text.length - partialMark(text, open)).trimEnd().length;
    this.#text += text.slice(0, kept);
    this.#held = text.slice(kept);
  }
}

/** The text and calls of a whole answer; calls whose arguments are no JSON stay text. */
export function parseToolCalls(
  format: ToolCallFormat,
  answer: string,
  newId?: () => string,
): { text: string; calls: ToolCall[] } {
  const parser = new ToolCallParser(format, newId);
  const pieces = [parser.push(answer), parser.flush()];
  const calls: { id: string; name: string; arguments: string }[] = [];
  for (const { index, id = "", name = "", arguments: more = "" } of pieces.flatMap((piece) => piece.calls)) {
    const call = (calls[index] ??= { id, name, arguments: "" });
    call.arguments += more;
  }
  const sound = calls.every((call) => isJson(call.arguments));
  return sound ? { text: pieces.map(({ text }) => text).join(""), calls } : { text: answer, calls: [] };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Deltas of one call that follow each other, as one. */
function mergeDeltas(deltas: readonly ToolCallDelta[]): ToolCallDelta[] {
  const merged: ToolCallDelta[] = [];
  for (const delta of deltas) {
    const last = merged.at(-1);
    if (last?.index === delta.index && delta.name === undefined)
      merged[merged.length - 1] = { ...last, arguments: (last.arguments ?? "") + (delta.arguments ?? "") };
    else merged.push(delta);
  }
  return merged;
}

const ID_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

function randomId({ idPrefix, idLength }: ToolCallFormat): string {
  const random = crypto.getRandomValues(new Uint8Array(idLength));
  return idPrefix + Array.from(random, (byte) => ID_CHARACTERS[byte % ID_CHARACTERS.length]).join("");
}
