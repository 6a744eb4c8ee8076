import type { TokenOdds } from "./api.ts";

const tooltip = document.querySelector<HTMLElement>("#odds")!;

const percent = (logprob: number): string => {
  const p = Math.exp(logprob) * 100;
  return p >= 10 ? `${p.toFixed(0)} %` : p >= 0.1 ? `${p.toFixed(1)} %` : "< 0.1 %";
};

const visible = (token: string): string => token.replaceAll("\n", "⏎").replaceAll("\t", "⇥").replace(/^ /, "␣");

/** The tokens of an answer, shaded by how likely each was; pointing at one, or moving to it by keyboard, tells its rivals. */
export function tokenView(tokens: readonly TokenOdds[]): HTMLElement {
  const view = document.createElement("div");
  view.className = "tokens";
  view.setAttribute("role", "group");
  view.setAttribute("aria-label", "Tokens with their probabilities; arrow keys move");
  for (const [i, token] of tokens.entries()) {
    const span = document.createElement("span");
    span.textContent = token.token;
    span.tabIndex = i === 0 ? 0 : -1;
    span.setAttribute("aria-label", `${visible(token.token)}, ${percent(token.logprob)}`);
    span.style.setProperty("--doubt", String(Math.min(1, -token.logprob / 4)));
    span.addEventListener("pointerenter", () => show(span, token));
    span.addEventListener("pointerleave", hide);
    span.addEventListener("focus", () => show(span, token));
    span.addEventListener("blur", hide);
    view.append(span);
  }
  view.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Escape") hide();
    if (!step || !(event.target instanceof HTMLElement)) return;
    const next = step > 0 ? event.target.nextElementSibling : event.target.previousElementSibling;
    if (!(next instanceof HTMLElement)) return;
    event.preventDefault();
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
  return view;
}

function show(at: HTMLElement, { token, logprob, top_logprobs = [] }: TokenOdds): void {
  const rows = [...top_logprobs];
  if (!rows.some((row) => row.token === token)) rows.push({ token, logprob });
  tooltip.replaceChildren(
    ...rows.map((row) => {
      const line = document.createElement("div");
      line.className = row.token === token ? "odd chosen" : "odd";
      const bar = document.createElement("i");
      bar.style.width = `${Math.exp(row.logprob) * 100}%`;
      const name = document.createElement("code");
      name.textContent = visible(row.token);
      const value = document.createElement("span");
      value.textContent = percent(row.logprob);
      line.append(bar, name, value);
      return line;
    }),
  );
  tooltip.hidden = false;
  const box = at.getBoundingClientRect();
  const { width, height } = tooltip.getBoundingClientRect();
  const left = Math.max(8, Math.min(box.left, innerWidth - width - 8));
  const below = box.bottom + 6 + height < innerHeight;
  tooltip.style.left = `${left}px`;
  tooltip.style.top = `${below ? box.bottom + 6 : Math.max(8, box.top - height - 6)}px`;
}

function hide(): void {
  tooltip.hidden = true;
}
