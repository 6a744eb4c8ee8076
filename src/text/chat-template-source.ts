import { HalfbyteError } from "../errors.ts";

/** Templates by name; "default" is the one that is used when none is asked for. */
export type NamedTemplates = ReadonlyMap<string, string>;

/** Strings of a GGUF file's metadata; `GgufMetadata` has them. */
export interface TemplateMetadata extends Iterable<{ readonly key: string }> {
  string<T>(key: string, absent: T): string | T;
}

const GGUF_KEY = "tokenizer.chat_template";

/** The templates of a GGUF file: `tokenizer.chat_template`, and `tokenizer.chat_template.NAME`. */
export function templatesFromGguf(metadata: TemplateMetadata): NamedTemplates {
  const templates = new Map<string, string>();
  const main = metadata.string(GGUF_KEY, undefined);
  if (main !== undefined) templates.set("default", main);
  for (const { key } of metadata) {
    if (!key.startsWith(`${GGUF_KEY}.`)) continue;
    const named = metadata.string(key, undefined);
    if (named !== undefined) templates.set(key.slice(GGUF_KEY.length + 1), named);
  }
  return templates;
}

/** The files of a Hugging Face model that can hold templates, as far as the model has them. */
export interface TemplateFiles {
  /** The text of `chat_template.jinja`. */
  readonly jinja?: string | undefined;
  /** The parsed `chat_template.json`. */
  readonly json?: unknown;
  /** The parsed `tokenizer_config.json`. */
  readonly tokenizerConfig?: unknown;
}

/**
 * The templates of a Hugging Face model. A file of its own wins over tokenizer_config.json, as in transformers.
 * Throws ERR_FORMAT where `chat_template` is neither a string nor a list of names with templates.
 */
export function templatesFromFiles(files: TemplateFiles): NamedTemplates {
  if (files.jinja !== undefined) return new Map([["default", files.jinja]]);
  for (const [place, file] of [
    ["chat_template.json", files.json],
    ["tokenizer_config.json", files.tokenizerConfig],
  ] as const) {
    const value = (file as { chat_template?: unknown } | null | undefined)?.chat_template;
    if (value !== undefined && value !== null) return readTemplates(value, place);
  }
  return new Map();
}

function readTemplates(value: unknown, place: string): NamedTemplates {
  if (typeof value === "string") return new Map([["default", value]]);
  const templates = new Map<string, string>();
  for (const entry of Array.isArray(value) ? value : [undefined]) {
    const { name, template } = (entry ?? {}) as { name?: unknown; template?: unknown };
    if (typeof name !== "string" || typeof template !== "string") {
      throw new HalfbyteError("ERR_FORMAT", "the chat template is not readable", {
        place: `${place}, chat_template`,
        expected: "a string, or a list of { name, template }",
      });
    }
    templates.set(name, template);
  }
  return templates;
}

/**
 * The template of that name; without a name, "tool_use" when there are tools and the model has it, else "default".
 * Throws ERR_NO_CHAT_TEMPLATE when the model has none: no other model's template would be right.
 */
export function chooseTemplate(templates: NamedTemplates, choice: { name?: string; tools?: boolean } = {}): string {
  const { name = choice.tools && templates.has("tool_use") ? "tool_use" : "default" } = choice;
  const template = templates.get(name);
  if (template !== undefined) return template;
  const known = [...templates.keys()].map((key) => JSON.stringify(key.slice(0, 100))).join(", ");
  throw new HalfbyteError("ERR_NO_CHAT_TEMPLATE", "the model has no such chat template", {
    place: "chat template",
    expected: JSON.stringify(name),
    got: known === "" ? "no template at all" : known,
    remedy:
      known === ""
        ? "it is probably a base model: give it plain text to go on with, or a template of your own"
        : "ask for one of those by name, or give a template of your own",
  });
}
