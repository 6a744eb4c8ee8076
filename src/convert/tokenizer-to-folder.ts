import type { GgufMetadata } from "../formats/gguf/metadata.ts";
import type { JsonObject } from "../formats/json.ts";
import { templatesFromGguf } from "../text/chat-template-source.ts";
import { tokenizerFromGguf } from "../text/gguf-tokenizer.ts";
import { tokenizerFromHuggingFace } from "../text/hugging-face-tokenizer.ts";
import { splitKind } from "../text/split-patterns.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import { TokenKind } from "../text/vocabulary.ts";
import { checkSameTokens } from "./tokenizer-probes.ts";
import type { OtherFile } from "./write-folder.ts";

const PIECE_SPACE = "\u2581";

/**
 * tokenizer.json, tokenizer_config.json and generation_config.json that say what the tokenizer of a GGUF file does; none
 * for a file without one. Both are tried on many texts. Throws ERR_UNSUPPORTED where they differ, and what reading the
 * tokenizer throws.
 */
export async function tokenizerFiles(metadata: GgufMetadata, config: JsonObject): Promise<Map<string, OtherFile>> {
  const files = new Map<string, OtherFile>();
  if (!metadata.has("tokenizer.ggml.model")) return files;
  const tokenizer = await tokenizerFromGguf(metadata);
  const byteLevel = metadata.string("tokenizer.ggml.model") === "gpt2";
  const entries = await metadata.strings("tokenizer.ggml.tokens");
  // Files have real spaces in pieces that stand for runs of them, where tokenizer.json spells all pieces alike.
  const tokens = byteLevel ? entries : entries.map((entry) => entry.replaceAll(" ", PIECE_SPACE));
  const kinds = metadata.has("tokenizer.ggml.token_type")
    ? await metadata.numbers("tokenizer.ggml.token_type")
    : new Uint8Array(tokens.length).fill(TokenKind.normal);
  const parts = byteLevel
    ? byteLevelParts(metadata, tokens, kinds, await metadata.strings("tokenizer.ggml.merges"))
    : pieceParts(tokens, kinds, await metadata.numbers("tokenizer.ggml.scores"), tokenizer);
  const json: JsonObject = {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: addedTokens(tokens, kinds),
    ...parts,
    ...(beginning(tokenizer, tokens) && { post_processor: beginning(tokenizer, tokens) }),
  };
  const settings = tokenizerConfig(metadata, tokenizer, tokens);
  const generation = generationConfig(tokenizer);
  const others: Record<string, unknown> = { "tokenizer.json": json, "tokenizer_config.json": settings };
  const again = await tokenizerFromHuggingFace({
    config,
    generationConfig: generation,
    json: async (name) => others[name],
  });
  checkSameTokens(tokenizer, again, "tokenizer.json");
  // Vocabularies are long: laid out, they would be longer.
  files.set("tokenizer.json", JSON.stringify(json));
  files.set("tokenizer_config.json", settings);
  files.set("generation_config.json", generation);
  return files;
}

function addedTokens(tokens: readonly string[], kinds: ArrayLike<number>): JsonObject[] {
  const added: JsonObject[] = [];
  for (let id = 0; id < tokens.length; id++) {
    const special = kinds[id] === TokenKind.control || kinds[id] === TokenKind.unknown;
    if (!special && kinds[id] !== TokenKind.userDefined) continue;
    const content = tokens[id]!;
    added.push({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special });
  }
  return added;
}

function byteLevelParts(
  metadata: GgufMetadata,
  tokens: readonly string[],
  kinds: ArrayLike<number>,
  merges: readonly string[],
): JsonObject {
  const kind = splitKind(metadata.string("tokenizer.ggml.pre", "default"));
  const split = (pattern: string): JsonObject => ({
    type: "Split",
    pattern: { Regex: pattern },
    behavior: "Isolated",
    invert: false,
  });
  const bytes = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false };
  return {
    normalizer: kind.composes ? { type: "NFC" } : null,
    pre_tokenizer: { type: "Sequence", pretokenizers: [...kind.patterns.map(split), bytes] },
    post_processor: { ...bytes, trim_offsets: false },
    decoder: { ...bytes, add_prefix_space: true },
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: kind.ignoreMerges ?? false,
      vocab: vocabOf(tokens, kinds),
      merges: merges.map((pair) => {
        const space = pair.indexOf(" ", 1);
        return [pair.slice(0, space), pair.slice(space + 1)];
      }),
    },
  };
}

function pieceParts(
  tokens: readonly string[],
  kinds: ArrayLike<number>,
  scores: ArrayLike<number>,
  { stripsLeadingSpace, unknownId }: Tokenizer,
): JsonObject {
  const vocab = vocabOf(tokens, kinds);
  const replace = (from: string, to: string): JsonObject => ({
    type: "Replace",
    pattern: { String: from },
    content: to,
  });
  const prepend = { type: "Prepend", prepend: PIECE_SPACE };
  const strip = { type: "Strip", content: " ", start: 1, stop: 0 };
  const normalizers = [...(stripsLeadingSpace ? [prepend] : []), replace(" ", PIECE_SPACE)];
  const decoders = [
    replace(PIECE_SPACE, " "),
    { type: "ByteFallback" },
    { type: "Fuse" },
    ...(stripsLeadingSpace ? [strip] : []),
  ];
  return {
    normalizer: { type: "Sequence", normalizers },
    pre_tokenizer: null,
    post_processor: null,
    decoder: { type: "Sequence", decoders },
    model: {
      type: "BPE",
      dropout: null,
      unk_token: unknownId === undefined ? null : tokens[unknownId],
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: true,
      byte_fallback: true,
      ignore_merges: false,
      vocab,
      merges: pieceMerges(tokens, kinds, scores, vocab),
    },
  };
}

/** Unused entries are left out: no text gives them. */
function vocabOf(tokens: readonly string[], kinds: ArrayLike<number>): Readonly<Record<string, number>> {
  const ids = new Map<string, number>();
  for (let id = 0; id < tokens.length; id++) if (kinds[id] !== TokenKind.unused) ids.set(tokens[id]!, id);
  return Object.fromEntries(ids);
}

/**
 * Every pair of pieces that spells a third, in the order of the third: by score, or by id where scores of plain pieces fall
 * with it, as those of pieces that were added to such a vocabulary say nothing.
 */
function pieceMerges(
  tokens: readonly string[],
  kinds: ArrayLike<number>,
  scores: ArrayLike<number>,
  vocab: Readonly<Record<string, number>>,
): [string, string][] {
  const isPiece = (id: number): boolean => kinds[id] === TokenKind.normal || kinds[id] === TokenKind.userDefined;
  const usable = (text: string): boolean => Object.hasOwn(vocab, text) && isPiece(vocab[text]!);
  const plain = Array.from(tokens.keys()).filter((id) => kinds[id] === TokenKind.normal);
  const byId = plain.every((id, i) => i === 0 || scores[id]! <= scores[plain[i - 1]!]!);
  const order = Array.from(tokens.keys()).filter((id) => isPiece(id) && tokens[id]!.length > 1);
  if (!byId) order.sort((a, b) => scores[b]! - scores[a]! || a - b);
  const merges: [string, string][] = [];
  for (const id of order) {
    const token = tokens[id]!;
    for (let at = 1; at < token.length; at++) {
      // Not inside a character of two units.
      if ((token.charCodeAt(at) & 0xfc00) === 0xdc00) continue;
      const [left, right] = [token.slice(0, at), token.slice(at)];
      if (usable(left) && usable(right)) merges.push([left, right]);
    }
  }
  return merges;
}

function beginning({ addBosByDefault, bosId }: Tokenizer, tokens: readonly string[]): JsonObject | undefined {
  if (!addBosByDefault || bosId === undefined) return undefined;
  const bos = tokens[bosId]!;
  const special = (type_id: number): JsonObject => ({ SpecialToken: { id: bos, type_id } });
  const sequence = (id: string, type_id: number): JsonObject => ({ Sequence: { id, type_id } });
  return {
    type: "TemplateProcessing",
    single: [special(0), sequence("A", 0)],
    pair: [special(0), sequence("A", 0), special(1), sequence("B", 1)],
    special_tokens: { [bos]: { id: bos, ids: [bosId], tokens: [bos] } },
  };
}

function tokenizerConfig(metadata: GgufMetadata, tokenizer: Tokenizer, tokens: readonly string[]): JsonObject {
  const at = (id: number | undefined): string | null => (id === undefined ? null : tokens[id]!);
  const templates = [...templatesFromGguf(metadata)];
  const [first] = templates;
  const chat_template =
    templates.length === 1 && first?.[0] === "default"
      ? first[1]
      : templates.map(([name, template]) => ({ name, template }));
  return {
    tokenizer_class: "PreTrainedTokenizerFast",
    bos_token: at(tokenizer.bosId),
    eos_token: at(tokenizer.eosId),
    unk_token: at(tokenizer.unknownId),
    pad_token: at(tokenizer.paddingId),
    add_bos_token: tokenizer.addBosByDefault,
    clean_up_tokenization_spaces: false,
    ...(templates.length > 0 && { chat_template }),
  };
}

function generationConfig({ bosId, paddingId, endOfGenerationIds }: Tokenizer): JsonObject {
  const ends = [...endOfGenerationIds];
  return {
    ...(bosId !== undefined && { bos_token_id: bosId }),
    ...(ends.length > 0 && { eos_token_id: ends.length === 1 ? ends[0] : ends }),
    ...(paddingId !== undefined && { pad_token_id: paddingId }),
  };
}
