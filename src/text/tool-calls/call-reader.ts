/** What one more character told about a call. */
export interface CallNews {
  /** The name, once, when the arguments begin: until then it may be no call. */
  name?: string;
  /** The next piece of the arguments' JSON. */
  arguments?: string;
}

const NAME_KEYS: ReadonlySet<string> = new Set(["name", "function"]);
const ARGUMENT_KEYS: ReadonlySet<string> = new Set(["arguments", "parameters"]);
const OTHER_KEYS: ReadonlySet<string> = new Set(["type", "id"]);
/** A call's head is short; what goes on for longer without a name is no call. */
const MAX_HEAD = 4096;

/**
 * Reads one call, `{"name": …, "arguments": {…}}`, character by character. Arguments are given as they come once the
 * name is known; arguments that are a string of JSON are given when it is complete.
 */
export class CallReader {
  /** All characters so far. */
  raw = "";
  state: "reading" | "done" | "malformed" = "reading";
  #expects: "open" | "key" | "colon" | "value" | "comma" = "open";
  #key = "";
  #token = "";
  /** Closing brackets that the value still needs. */
  #closers = "";
  #inString = false;
  #escaped = false;
  #name: string | undefined;
  #named = false;
  #early = "";
  #hasArguments = false;
  /** The braces are those of the arguments. */
  #bare = false;

  push(character: string): CallNews {
    this.raw += character;
    if (this.#name === undefined && this.raw.length > MAX_HEAD && !this.#hasArguments) this.state = "malformed";
    const news: CallNews = {};
    if (this.#token === "" && /\s/.test(character)) return news;
    switch (this.#expects) {
      case "open":
        this.#need(character === "{", "key");
        break;
      case "key":
        if (character === "}" && this.#token === "") this.#end(news);
        else if (this.#readValue(character, false) === "complete") this.#endKey();
        break;
      case "colon":
        this.#need(character === ":", "value");
        break;
      case "comma":
        if (character === "}") this.#end(news);
        else this.#need(character === ",", "key");
        break;
      case "value": {
        const read = this.#readValue(character, true);
        // The character after a number or word belongs to what follows.
        this.#takeValue(read, read === "past" ? "" : character, news);
        if (read === "past") {
          this.raw = this.raw.slice(0, -1);
          return { ...news, ...this.push(character) };
        }
      }
    }
    return news;
  }

  /** Takes a name that stood before the braces; what is read from here on is the arguments alone. */
  takeName(name: string): void {
    this.#name = name;
    this.#named = true;
    this.#key = "arguments";
    this.#hasArguments = true;
    this.#expects = "value";
    this.#bare = true;
  }

  #need(right: boolean, next: "key" | "colon" | "value"): void {
    if (!right) this.state = "malformed";
    this.#expects = next;
  }

  /** Adds a character to the value being read; "past" when the value ended before it. */
  #readValue(character: string, any: boolean): "partial" | "complete" | "past" {
    if (this.#token === "" && !any && character !== '"') this.state = "malformed";
    if (this.#inString) {
      this.#token += character;
      if (this.#escaped) this.#escaped = false;
      else if (character === "\\") this.#escaped = true;
      else if (character === '"') this.#inString = false;
      return this.#inString || this.#closers ? "partial" : "complete";
    }
    const scalar = this.#token !== "" && this.#closers === "";
    if (scalar && /[\s,}\]]/.test(character)) return "past";
    this.#token += character;
    if (character === '"') this.#inString = true;
    else if (character === "{") this.#closers = `}${this.#closers}`;
    else if (character === "[") this.#closers = `]${this.#closers}`;
    else if (character === "}" || character === "]") {
      if (this.#closers[0] !== character) this.state = "malformed";
      this.#closers = this.#closers.slice(1);
      if (this.#closers === "") return "complete";
    }
    return "partial";
  }

  #endKey(): void {
    const key = parse(this.#token);
    this.#token = "";
    const known =
      typeof key === "string" &&
      (OTHER_KEYS.has(key) ||
        (NAME_KEYS.has(key) && this.#name === undefined) ||
        (ARGUMENT_KEYS.has(key) && !this.#hasArguments));
    if (!known) this.state = "malformed";
    this.#key = String(key);
    this.#expects = "colon";
  }

  #takeValue(read: "partial" | "complete" | "past", character: string, news: CallNews): void {
    const isArguments = ARGUMENT_KEYS.has(this.#key);
    if (isArguments) {
      this.#hasArguments = true;
      if (this.#token[0] === "{") this.#give(character, news);
      else if (this.#token[0] !== '"' && this.#token !== "" && !"null".startsWith(this.#token))
        this.state = "malformed";
    }
    if (read === "partial") return;
    const value = parse(this.#token);
    if (value === undefined) this.state = "malformed";
    if (NAME_KEYS.has(this.#key)) {
      if (typeof value !== "string" || value === "") {
        this.state = "malformed";
        return;
      }
      this.#name = value;
      if (this.#early) this.#give("", news);
    }
    if (isArguments && typeof value === "string") {
      if (!isRecord(parse(value))) this.state = "malformed";
      else this.#give(value, news);
    }
    if (isArguments && value === null) this.#give("{}", news);
    this.#token = "";
    this.#expects = "comma";
    if (this.#bare && this.state === "reading") this.state = "done";
  }

  /** Gives a piece of the arguments and before the first the name, or keeps it until there is a name. */
  #give(piece: string, news: CallNews): void {
    if (this.#name === undefined) {
      this.#early += piece;
      return;
    }
    if (!this.#named) news.name = this.#name;
    this.#named = true;
    const all = this.#early + piece;
    this.#early = "";
    if (all) news.arguments = (news.arguments ?? "") + all;
  }

  #end(news: CallNews): void {
    if (this.state !== "reading") return;
    this.state = this.#name === undefined ? "malformed" : "done";
    if (this.state === "done" && !this.#hasArguments) this.#give("{}", news);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
