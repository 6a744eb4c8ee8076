/** The form of sampling settings: what it shows, keeps between visits, and puts into a request. */

interface NumberSetting {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly value?: number;
}

const NUMBERS: readonly NumberSetting[] = [
  {
    name: "temperature",
    label: "Temperature",
    hint: "0 takes the likeliest word",
    min: 0,
    max: 2,
    step: 0.05,
    value: 0,
  },
  { name: "top_p", label: "Top p", hint: "share of probability kept", min: 0.01, max: 1, step: 0.01, value: 1 },
  {
    name: "max_tokens",
    label: "Longest answer",
    hint: "tokens; empty: as the context allows",
    min: 1,
    max: 1_000_000,
    step: 1,
  },
  { name: "seed", label: "Seed", hint: "the same seed, the same answer", min: 0, max: 2 ** 31, step: 1 },
  {
    name: "frequency_penalty",
    label: "Frequency penalty",
    hint: "against repetition",
    min: -2,
    max: 2,
    step: 0.1,
    value: 0,
  },
  {
    name: "presence_penalty",
    label: "Presence penalty",
    hint: "against repetition",
    min: -2,
    max: 2,
    step: 0.1,
    value: 0,
  },
];

const STORED = "halfbyte-settings";

export interface Settings {
  /** Fields of the request. */
  request(): Record<string, unknown>;
  readonly system: string;
  /** The system prompt and fields that a saved form may hold. */
  readonly key: string;
}

export function settingsForm(form: HTMLFormElement, onKey: (key: string) => void): Settings {
  const stored = load();
  form.append(area("system", "System prompt", stored.system ?? ""));
  for (const setting of NUMBERS) form.append(number(setting, stored[setting.name]));
  form.append(check("odds", "Token probabilities", stored.odds !== "no"));
  form.append(secret("key", "API key", "only where the server asks for one; kept in this tab"));
  const field = (name: string): HTMLInputElement => form.elements.namedItem(name) as HTMLInputElement;
  const reset = document.createElement("button");
  reset.type = "button";
  reset.textContent = "Reset";
  reset.addEventListener("click", () => {
    for (const { name, value } of NUMBERS) field(name).value = value === undefined ? "" : String(value);
    field("system").value = "";
    field("odds").checked = true;
    save();
  });
  form.append(reset);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", (event) => {
    if (event.target === field("key")) onKey(field("key").value);
    save();
  });

  function save(): void {
    const kept: Record<string, string> = { system: field("system").value, odds: field("odds").checked ? "yes" : "no" };
    for (const { name } of NUMBERS) kept[name] = field(name).value;
    localStorage.setItem(STORED, JSON.stringify(kept));
  }

  return {
    request() {
      const body: Record<string, unknown> = {};
      for (const { name } of NUMBERS) {
        const input = field(name);
        if (input.value !== "" && input.checkValidity()) body[name] = Number(input.value);
      }
      if (field("odds").checked) Object.assign(body, { logprobs: true, top_logprobs: 5 });
      return body;
    },
    get system() {
      return field("system").value.trim();
    },
    get key() {
      return field("key").value;
    },
  };
}

function load(): Record<string, string | undefined> {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(STORED) ?? "{}");
    return typeof stored === "object" && stored !== null ? (stored as Record<string, string>) : {};
  } catch {
    return {};
  }
}

function labelled(label: string, hint: string, input: HTMLElement): HTMLElement {
  const row = document.createElement("label");
  row.className = "field";
  const name = document.createElement("span");
  name.textContent = label;
  row.append(name, input);
  if (hint) {
    const text = document.createElement("small");
    text.textContent = hint;
    row.append(text);
  }
  return row;
}

function number({ name, label, hint, min, max, step, value }: NumberSetting, stored: string | undefined): HTMLElement {
  const input = document.createElement("input");
  Object.assign(input, {
    type: "number",
    name,
    min: String(min),
    max: String(max),
    step: String(step),
    inputMode: "decimal",
  });
  input.value = stored ?? (value === undefined ? "" : String(value));
  return labelled(label, hint, input);
}

function area(name: string, label: string, value: string): HTMLElement {
  const input = document.createElement("textarea");
  Object.assign(input, { name, value, rows: 3 });
  return labelled(label, "", input);
}

function check(name: string, label: string, checked: boolean): HTMLElement {
  const input = document.createElement("input");
  Object.assign(input, { type: "checkbox", name, checked });
  const row = labelled(label, "", input);
  row.classList.add("check");
  return row;
}

function secret(name: string, label: string, hint: string): HTMLElement {
  const input = document.createElement("input");
  Object.assign(input, { type: "password", name, autocomplete: "off" });
  return labelled(label, hint, input);
}
