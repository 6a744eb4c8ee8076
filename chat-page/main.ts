import { ApiError, chat, models, setKey } from "./api.ts";
import { Turn } from "./conversation.ts";
import { loadPlots } from "./plots.ts";
import { settingsForm } from "./settings.ts";

const at = <T extends HTMLElement>(selector: string): T => document.querySelector<T>(selector)!;

const conversation = at("#conversation");
const list = at("#messages");
const question = at<HTMLTextAreaElement>("#question");
const model = at<HTMLSelectElement>("#model");
const panel = at("#panel");
const rate = at("#rate");
const HINT = rate.textContent!;

const turns: Turn[] = [];
let answering: AbortController | undefined;

const settings = settingsForm(at<HTMLFormElement>("#settings"), (key) => {
  setKey(key);
  void findModels();
});
const plots = loadPlots(at("#plots"), at("#load-text"));

async function findModels(): Promise<void> {
  try {
    const names = await models();
    model.replaceChildren(...names.map((name) => new Option(name, name)));
    rate.textContent = HINT;
  } catch (error) {
    rate.textContent = error instanceof ApiError ? error.message : String(error);
    if (error instanceof ApiError && error.status === 401) showPanel(true);
  }
}

async function ask(text: string): Promise<void> {
  add("user").append(text);
  await answer();
}

function add(role: "user" | "assistant"): Turn {
  const turn = new Turn(role);
  turns.push(turn);
  list.append(turn.element);
  at("#empty").hidden = true;
  return turn;
}

async function answer(): Promise<void> {
  // What was refused is no part of the conversation: a message that was too long would be refused again.
  const messages = turns
    .filter((turn, i) => !turn.unanswered && !turns[i + 1]?.unanswered)
    .map(({ message }) => message);
  if (settings.system) messages.unshift({ role: "system", content: settings.system });
  const turn = add("assistant");
  const stop = (answering = new AbortController());
  turn.busy = true;
  showBusy(true);
  let first = 0;
  let tokens = 0;
  const started = performance.now();
  const speed = (): string => {
    const seconds = (performance.now() - first) / 1000;
    return tokens > 1 ? `${((tokens - 1) / seconds).toFixed(1)} tokens/s` : "";
  };
  let ending = "";
  let failure = "";
  try {
    for await (const piece of chat({ ...settings.request(), model: model.value, messages }, stop.signal)) {
      const near = conversation.scrollHeight - conversation.scrollTop - conversation.clientHeight < 80;
      if (piece.text || piece.reasoning || piece.tokens?.length) {
        first ||= performance.now();
        tokens += piece.tokens?.length ?? 1;
      }
      if (piece.reasoning) turn.think(piece.reasoning);
      if (piece.text) turn.append(piece.text);
      if (piece.tokens) turn.tokens.push(...piece.tokens);
      if (piece.finishReason === "length") ending = "the limit of tokens was reached";
      if (piece.usage) tokens = piece.usage.completion_tokens;
      rate.textContent = speed();
      if (near) requestAnimationFrame(() => conversation.scrollTo({ top: conversation.scrollHeight }));
    }
  } catch (error) {
    if (stop.signal.aborted) ending = "stopped";
    else {
      failure = error instanceof Error ? error.message : String(error);
      if (error instanceof ApiError && error.status === 401) showPanel(true);
    }
  }
  turn.busy = false;
  turn.draw();
  if (failure) {
    turn.unanswered = turn.text === "";
    turn.note(failure, true);
    turn.element.scrollIntoView({ block: "end" });
  } else if (first) {
    const wait = `first token ${((first - started) / 1000).toFixed(2)} s`;
    turn.note([`${tokens} tokens`, speed(), wait, ending].filter(Boolean).join(" · "));
  }
  at("#announcer").textContent = failure || turn.text || "No answer";
  rate.textContent = HINT;
  if (answering !== stop) return;
  answering = undefined;
  showBusy(false);
  turn.offer(() => retry(turn));
}

/** Answers once more what this turn answered; later turns go. */
function retry(turn: Turn): void {
  if (answering) return;
  for (const gone of turns.splice(turns.indexOf(turn))) gone.element.remove();
  void answer();
}

function startOver(): void {
  answering?.abort();
  answering = undefined;
  showBusy(false);
  for (const gone of turns.splice(0)) gone.element.remove();
  at("#empty").hidden = false;
  question.focus();
}

function showBusy(busy: boolean): void {
  at("#send").hidden = busy;
  at("#stop").hidden = !busy;
}

function showPanel(open: boolean): void {
  panel.hidden = !open;
  at("#panel-toggle").setAttribute("aria-expanded", String(open));
  if (open) plots.start();
  else plots.stop();
}

function send(): void {
  const text = question.value.trim();
  if (!text || answering) return;
  question.value = "";
  grow();
  void ask(text);
}

function grow(): void {
  question.style.height = "auto";
  question.style.height = `${Math.min(question.scrollHeight, innerHeight / 3)}px`;
}

at("#ask").addEventListener("submit", (event) => {
  event.preventDefault();
  send();
});
question.addEventListener("input", grow);
question.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send();
});
at("#stop").addEventListener("click", () => answering?.abort());
at("#new").addEventListener("click", startOver);
at("#panel-toggle").addEventListener("click", () => showPanel(Boolean(panel.hidden)));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && answering) answering.abort();
  if (event.ctrlKey && event.shiftKey && event.code === "KeyO") {
    event.preventDefault();
    startOver();
  }
});
for (const example of ["Why is the sky blue?", "Write a haiku about rain.", "What is a prime number?"]) {
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: example });
  button.addEventListener("click", () => answering ?? void ask(example));
  at("#examples").append(button);
}
if (matchMedia("(min-width: 70rem)").matches) showPanel(true);
void findModels();
question.focus();
