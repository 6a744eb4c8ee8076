import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";

const PROMPT = ">>> ";
const CONTINUED = "... ";

/**
 * The user's side of a chat in a terminal. One line editor lives as long as the chat, so that keys pressed during an
 * answer are kept for the next message and never show up in the middle of the answer.
 */
export class ChatInput {
  /** Called for Ctrl-C while no message is being read. */
  onStop: () => void = () => {};
  readonly #editor: Interface;
  readonly #screen = new Screen();
  readonly #messages: string[] = [];
  #lines: string[] = [];
  #reading: ((message: string | undefined) => void) | undefined;
  #ended = false;

  constructor() {
    this.#editor = createInterface({
      input: process.stdin,
      output: this.#screen,
      terminal: true,
      prompt: PROMPT,
      historySize: 1000,
      removeHistoryDuplicates: true,
    });
    this.#editor.on("line", (line) => this.#addLine(line));
    this.#editor.on("SIGINT", () => this.#controlC());
    this.#editor.on("close", () => this.#end());
  }

  /** The user's next message, of one or more lines; undefined when there will be none. */
  async read(): Promise<string | undefined> {
    this.#screen.open = true;
    const waiting = this.#messages.shift();
    if (waiting !== undefined) {
      process.stdout.write(`${PROMPT}${waiting}\n`);
      this.#screen.open = false;
      return waiting;
    }
    if (this.#ended) return undefined;
    this.#editor.setPrompt(this.#lines.length ? CONTINUED : PROMPT);
    this.#editor.prompt(true);
    const message = await new Promise<string | undefined>((resolve) => {
      this.#reading = resolve;
    });
    this.#screen.open = false;
    return message;
  }

  close(): void {
    this.#editor.close();
    this.#screen.destroy();
  }

  #addLine(line: string): void {
    this.#lines.push(line);
    // The lines of a paste come in one go and are one message; what has no end yet waits for its Enter.
    setImmediate(() => this.#completeMessage());
  }

  #completeMessage(): void {
    const last = this.#lines.at(-1);
    if (last === undefined) return;
    if (last.endsWith("\\") || this.#editor.line) {
      this.#editor.setPrompt(CONTINUED);
      this.#editor.prompt(true);
      return;
    }
    const message = this.#lines.map((line) => (line.endsWith("\\") ? line.slice(0, -1) : line)).join("\n");
    this.#lines = [];
    this.#give(message);
  }

  #give(message: string): void {
    if (!this.#reading) {
      this.#messages.push(message);
      return;
    }
    this.#reading(message);
    this.#reading = undefined;
  }

  #controlC(): void {
    if (!this.#reading) {
      this.onStop();
      return;
    }
    if (!this.#editor.line && this.#lines.length === 0) {
      this.#editor.close();
      return;
    }
    this.#lines = [];
    this.#editor.write(null, { ctrl: true, name: "e" });
    this.#editor.write(null, { ctrl: true, name: "u" });
    process.stdout.write("\n");
    this.#editor.setPrompt(PROMPT);
    this.#editor.prompt();
  }

  #end(): void {
    this.#ended = true;
    if (!this.#reading) return;
    process.stdout.write("\n");
    this.#reading(undefined);
    this.#reading = undefined;
  }
}

/** Standard output for the line editor, shut while a model writes there. */
class Screen extends Writable {
  open = true;

  constructor() {
    super({ decodeStrings: false });
    process.stdout.on("resize", this.#onResize);
  }

  get columns(): number {
    return process.stdout.columns;
  }

  override _write(text: string | Buffer, _encoding: string, done: () => void): void {
    if (this.open) process.stdout.write(text);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    process.stdout.off("resize", this.#onResize);
    done(error);
  }

  readonly #onResize = (): void => void this.emit("resize");
}
