import type { GgufFile } from "../formats/gguf/open-gguf.ts";
import type { HuggingFaceFolder } from "../formats/safetensors/hugging-face-folder.ts";
import { ChatTemplate } from "./chat-template.ts";
import { chooseTemplate, type NamedTemplates, templatesFromFiles, templatesFromGguf } from "./chat-template-source.ts";
import { tokenizerFromGguf } from "./gguf-tokenizer.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** The text side of a model: its tokenizer and its chat templates. */
export interface ModelText {
  readonly tokenizer: Tokenizer;
  /** By name; empty for a model that has none. */
  readonly templates: NamedTemplates;
}

/** Reads the tokenizer and the chat templates of a model file. */
export async function openText(file: GgufFile | HuggingFaceFolder): Promise<ModelText> {
  if ("metadata" in file)
    return { tokenizer: await tokenizerFromGguf(file.metadata), templates: templatesFromGguf(file.metadata) };
  const { tokenizerFromHuggingFace } = await import("./hugging-face-tokenizer.ts");
  const [tokenizer, jinja, json, tokenizerConfig] = await Promise.all([
    tokenizerFromHuggingFace(file),
    file.text("chat_template.jinja"),
    file.json("chat_template.json"),
    file.json("tokenizer_config.json"),
  ]);
  return { tokenizer, templates: templatesFromFiles({ jinja, json, tokenizerConfig }) };
}

/** Parsed templates of one model, each parsed when it is first used. */
export class ChatTemplates {
  readonly #sources: NamedTemplates;
  readonly #specialTokens: Readonly<Record<string, string>>;
  readonly #parsed = new Map<string, ChatTemplate>();

  constructor(sources: NamedTemplates, tokenizer: Tokenizer) {
    this.#sources = sources;
    this.#specialTokens = specialTokens(tokenizer);
  }

  get names(): readonly string[] {
    return [...this.#sources.keys()];
  }

  /** Throws ERR_NO_CHAT_TEMPLATE when there is none of that name, ERR_CHAT_TEMPLATE when it cannot be parsed. */
  choose(choice: { name?: string; tools?: boolean } = {}): ChatTemplate {
    const source = chooseTemplate(this.#sources, choice);
    let template = this.#parsed.get(source);
    if (!template) {
      template = new ChatTemplate(source, { specialTokens: this.#specialTokens });
      this.#parsed.set(source, template);
    }
    return template;
  }
}

function specialTokens(tokenizer: Tokenizer): Record<string, string> {
  const { bosId, eosId, unknownId, paddingId } = tokenizer;
  const ids = { bos_token: bosId, eos_token: eosId, unk_token: unknownId, pad_token: paddingId };
  return Object.fromEntries(
    Object.entries(ids).flatMap(([name, id]) => (id === undefined ? [] : [[name, tokenizer.decode([id])]])),
  );
}
