/** Files that go with a model whatever its weights are: copied along, or made for it. */
export const OTHER_FILES = [
  "generation_config.json",
  "tokenizer.json",
  "tokenizer_config.json",
  "special_tokens_map.json",
  "added_tokens.json",
  "tokenizer.model",
  "vocab.json",
  "merges.txt",
  "chat_template.jinja",
  "chat_template.json",
  "preprocessor_config.json",
  "processor_config.json",
  "LICENSE",
  "README.md",
] as const;

/** Beside config.json in a rank's folder: what the rank has of the model. */
export const MANIFEST_FILE = "shard.json";

const CONFIG = "config.json";
const WEIGHTS: readonly string[] = ["model.safetensors", "model.safetensors.index.json"];
const PART = /^model-\d{5}-of-\d{5}\.safetensors$/;
const KNOWN: ReadonlySet<string> = new Set([CONFIG, "quantize_config.json", ...OTHER_FILES, MANIFEST_FILE, ...WEIGHTS]);

/** Whether a file of that name in a model's folder is one that Halfbyte writes there. */
export function isModelFile(name: string): boolean {
  return KNOWN.has(name) || PART.test(name);
}

/** What a folder with these files lacks of a model; undefined where it lacks nothing. */
export function lackOfModel(names: readonly string[]): string | undefined {
  if (!names.includes(CONFIG)) return CONFIG;
  return WEIGHTS.some((name) => names.includes(name)) ? undefined : WEIGHTS[0];
}
