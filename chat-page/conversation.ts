import type { Message, TokenOdds } from "./api.ts";
import { renderMarkdown } from "./markdown.ts";
import { tokenView } from "./odds.ts";

/** One turn on the page. */
export class Turn {
  readonly role: Message["role"];
  readonly element: HTMLLIElement = document.createElement("li");
  text = "";
  reasoning = "";
  /** The server refused the question, or failed before a word of the answer. */
  unanswered = false;
  readonly tokens: TokenOdds[] = [];
  readonly #body = document.createElement("div");
  readonly #thoughts = document.createElement("details");
  readonly #note = document.createElement("p");
  readonly #tools = document.createElement("div");
  #frame = 0;

  constructor(role: Message["role"]) {
    this.role = role;
    this.element.className = role;
    const who = document.createElement("h2");
    who.className = "unseen";
    who.textContent = role === "user" ? "You" : "Model";
    this.#body.className = "body";
    this.#thoughts.hidden = true;
    this.#thoughts.append(
      Object.assign(document.createElement("summary"), { textContent: "Reasoning" }),
      document.createElement("div"),
    );
    this.#note.className = "note quiet";
    this.#tools.className = "tools";
    this.element.append(who, this.#thoughts, this.#body, this.#note, this.#tools);
  }

  get message(): Message {
    return { role: this.role, content: this.text };
  }

  append(text: string): void {
    this.text += text;
    this.draw();
  }

  think(text: string): void {
    this.reasoning += text;
    this.draw();
  }

  /** At most once a frame, however fast text comes. */
  draw(): void {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      if (this.role === "user") this.#body.textContent = this.text;
      else renderMarkdown(this.#body, this.text);
      this.#thoughts.hidden = this.reasoning === "";
      this.#thoughts.lastElementChild!.textContent = this.reasoning;
    });
  }

  set busy(busy: boolean) {
    this.element.setAttribute("aria-busy", String(busy));
  }

  note(text: string, isError = false): void {
    this.#note.textContent = text;
    this.#note.classList.toggle("error", isError);
  }

  /** Buttons under the turn once it has ended. */
  offer(retry: () => void): void {
    const button = (label: string, action: (button: HTMLButtonElement) => void): HTMLButtonElement => {
      const made = Object.assign(document.createElement("button"), { type: "button", textContent: label });
      made.addEventListener("click", () => action(made));
      return made;
    };
    const tools = [button("Retry", retry)];
    tools.push(
      button("Copy", (self) => {
        const done = (word: string) => (): void => {
          self.textContent = word;
        };
        void navigator.clipboard.writeText(this.text).then(done("Copied"), done("Copying is not allowed"));
      }),
    );
    if (this.tokens.length > 0) {
      let view: HTMLElement | undefined;
      tools.push(
        button("Tokens", (self) => {
          if (view) view.remove();
          else this.#body.after((view = tokenView(this.tokens)));
          const shown = view.isConnected;
          if (!shown) view = undefined;
          this.#body.hidden = shown;
          self.setAttribute("aria-pressed", String(shown));
        }),
      );
      tools.at(-1)!.setAttribute("aria-pressed", "false");
    }
    this.#tools.replaceChildren(...tools);
  }
}
