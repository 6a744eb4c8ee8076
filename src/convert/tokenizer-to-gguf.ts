import { HalfbyteError } from "../errors.ts";
import { isJsonObject, type JsonObject } from "../formats/json.ts";
import type { HuggingFaceFolder } from "../formats/safetensors/hugging-face-folder.ts";
import { templatesFromFiles } from "../text/chat-template-source.ts";
import { type TokenizerMetadata, tokenizerFromGguf } from "../text/gguf-tokenizer.ts";
import { tokenizerFromHuggingFace } from "../text/hugging-face-tokenizer.ts";
import { GPT2_PATTERN, splitKindOf } from "../text/split-patterns.ts";
import { packStrings } from "../text/string-table.ts";
import { TokenKind } from "../text/vocabulary.ts";
import { checkSameTokens } from "./tokenizer-probes.ts";
import type { GgufValueOut } from "./write-gguf.ts";

/** Below every merge: pieces that no merge makes have no place in the order. */
const NO_SCORE = -1e6;

/**
 * `tokenizer.*` keys of a GGUF file that say what tokenizer.json and the files beside it do; empty for a model without a
 * tokenizer. Both are tried on many texts. Throws ERR_UNSUPPORTED where they differ, or where GGUF has no name for a part,
 * and what reading the tokenizer throws.
 */
export async function tokenizerEntries(
  folder: HuggingFaceFolder,
  vocabularySize: number,
): Promise<Map<string, GgufValueOut>> {
  const json = await folder.json("tokenizer.json");
  if (json === undefined) return new Map();
  const tokenizer = await tokenizerFromHuggingFace(folder);
  const { model, added_tokens: added } = json as { model: JsonObject; added_tokens?: JsonObject[] };
  const { tokens, kinds } = readEntries(model, added ?? [], vocabularySize);
  const entries = new Map<string, GgufValueOut>();
  const text = (key: string, value: string): void => void entries.set(key, { type: "string", value });
  const byteLevel = isByteLevel(json as JsonObject);
  const merges = readMerges(model.merges);
  text("tokenizer.ggml.model", byteLevel ? "gpt2" : "llama");
  if (byteLevel) text("tokenizer.ggml.pre", splitName(json as JsonObject));
  entries.set("tokenizer.ggml.tokens", { type: "array", of: "string", value: tokens });
  entries.set("tokenizer.ggml.token_type", { type: "array", of: "i32", value: kinds });
  if (byteLevel) {
    const value = merges.map(([left, right]) => `${left} ${right}`);
    entries.set("tokenizer.ggml.merges", { type: "array", of: "string", value });
  } else {
    entries.set("tokenizer.ggml.scores", { type: "array", of: "f32", value: scoresOf(tokens, merges) });
    const prefix = tokenizer.stripsLeadingSpace;
    entries.set("tokenizer.ggml.add_space_prefix", { type: "bool", value: prefix });
  }
  const ids = [
    ["bos", tokenizer.bosId],
    ["eos", tokenizer.eosId],
    ["unknown", tokenizer.unknownId],
    ["padding", tokenizer.paddingId],
    ["eot", [...tokenizer.endOfGenerationIds].find((id) => id !== tokenizer.eosId)],
  ] as const;
  for (const [name, id] of ids)
    if (id !== undefined) entries.set(`tokenizer.ggml.${name}_token_id`, { type: "u32", value: id });
  entries.set("tokenizer.ggml.add_bos_token", { type: "bool", value: tokenizer.addBosByDefault });
  checkSameTokens(tokenizer, await tokenizerFromGguf(asMetadata(entries)), "GGUF");
  for (const [name, template] of await templates(folder))
    text(name === "default" ? "tokenizer.chat_template" : `tokenizer.chat_template.${name}`, template);
  return entries;
}

async function templates(folder: HuggingFaceFolder): Promise<ReadonlyMap<string, string>> {
  const [jinja, json, tokenizerConfig] = await Promise.all([
    folder.text("chat_template.jinja"),
    folder.json("chat_template.json"),
    folder.json("tokenizer_config.json"),
  ]);
  return templatesFromFiles({ jinja, json, tokenizerConfig });
}

function readEntries(
  model: JsonObject,
  added: readonly JsonObject[],
  vocabularySize: number,
): { tokens: string[]; kinds: Int32Array } {
  const vocab = Object.entries(model.vocab as Record<string, number>);
  const size = Math.max(vocabularySize, ...[vocab.length], ...added.map(({ id }) => (id as number) + 1));
  const tokens = Array.from({ length: size }, (_, id) => `[PAD${id}]`);
  const kinds = new Int32Array(size).fill(TokenKind.unused);
  for (const [token, id] of vocab) {
    if (id >= size) throw refused("ids with gaps past the vocabulary's size", `entry ${id} of ${size}`);
    tokens[id] = token;
    kinds[id] = model.byte_fallback === true && /^<0x[0-9A-F]{2}>$/.test(token) ? TokenKind.byte : TokenKind.normal;
  }
  for (const { id, content, special } of added as unknown as { id: number; content: string; special?: boolean }[]) {
    tokens[id] = content;
    const unknown = content === model.unk_token;
    kinds[id] = unknown ? TokenKind.unknown : special === true ? TokenKind.control : TokenKind.userDefined;
  }
  return { tokens, kinds };
}

function readMerges(list: unknown): (readonly [string, string])[] {
  return (list as (string | [string, string])[]).map((pair) =>
    typeof pair === "string" ? (pair.split(" ") as [string, string]) : pair,
  );
}

/** SentencePiece merges whatever makes the piece of the best score: that of the first merge which makes it. */
function scoresOf(tokens: readonly string[], merges: readonly (readonly [string, string])[]): Float32Array {
  const rank = new Map<string, number>();
  for (const [i, [left, right]] of merges.entries()) if (!rank.has(left + right)) rank.set(left + right, i);
  // Ranks of pieces, not of merges: f32 has no place for every number past 2^24.
  let score = 0;
  const scores = new Map<string, number>();
  for (const piece of rank.keys()) scores.set(piece, score--);
  return Float32Array.from(tokens, (token) => scores.get(token) ?? NO_SCORE);
}

function parts(part: unknown, list: string): JsonObject[] {
  if (!isJsonObject(part)) return [];
  const inner = part[list];
  return Array.isArray(inner) ? inner.flatMap((each) => parts(each, list)) : [part];
}

function isByteLevel(json: JsonObject): boolean {
  return parts(json.pre_tokenizer, "pretokenizers").some(({ type }) => type === "ByteLevel");
}

/** `tokenizer.ggml.pre` for the way a byte-level tokenizer cuts words. */
function splitName(json: JsonObject): string {
  const patterns = parts(json.pre_tokenizer, "pretokenizers").flatMap((part) => {
    if (part.type === "ByteLevel") return part.use_regex === false ? [] : [GPT2_PATTERN];
    if (part.type === "Digits") return [part.individual_digits === true ? String.raw`\p{N}` : String.raw`\p{N}+`];
    const { Regex: regex } = isJsonObject(part.pattern) ? part.pattern : {};
    return typeof regex === "string" ? [regex] : [];
  });
  const composes = parts(json.normalizer, "normalizers").some(({ type }) => type === "NFC");
  const ignoreMerges = isJsonObject(json.model) && json.model.ignore_merges === true;
  const name = splitKindOf({ patterns, composes, ignoreMerges });
  if (name !== undefined) return name;
  throw refused("words are cut in a way that GGUF has no name for", patterns.join(" then ").slice(0, 200));
}

function refused(problem: string, got: string): HalfbyteError {
  return new HalfbyteError("ERR_UNSUPPORTED", problem, { place: "tokenizer.json", got });
}

/** What was written, as a reader of the file would see it. */
function asMetadata(entries: ReadonlyMap<string, GgufValueOut>): TokenizerMetadata {
  const value = (key: string): unknown => {
    const entry = entries.get(key);
    return entry && "value" in entry ? entry.value : undefined;
  };
  const get = <T>(key: string, absent: T): never => (value(key) ?? absent) as never;
  return {
    has: (key) => entries.has(key),
    string: get,
    number: get,
    boolean: get,
    stringTable: async (key) => packStrings(value(key) as string[]),
    numbers: async (key) => value(key) as ArrayLike<number>,
  };
}
