import { HalfbyteError } from "../errors.ts";
import type { StringTable } from "../formats/string-table.ts";
import { decodeUtf8 } from "../formats/utf8.ts";
import type { AddedToken } from "./added-tokens.ts";
import { byteLevelPieces, writeSpeltBytes } from "./byte-alphabet.ts";
import { ByteLevelModel } from "./byte-level-model.ts";
import { endOfGeneration } from "./end-tokens.ts";
import { ScoredPieces, SpeltMerges } from "./pair-ranks.ts";
import { PieceModel } from "./piece-model.ts";
import { sentencePieces } from "./piece-table.ts";
import { splitKind, splitPattern } from "./split-patterns.ts";
import { splitBy } from "./text-model.ts";
import { type Tokenizer, type TokenizerTraits, VocabularyTokenizer } from "./tokenizer.ts";
import { MAX_VOCABULARY, TokenKind, Vocabulary } from "./vocabulary.ts";

/** What a tokenizer needs of a GGUF file's metadata; `GgufMetadata` has it. */
export interface TokenizerMetadata {
  has(key: string): boolean;
  string<T>(key: string, absent: T): string | T;
  number<T>(key: string, absent: T): number | T;
  boolean<T>(key: string, absent: T): boolean | T;
  stringTable(key: string): Promise<StringTable>;
  numbers(key: string): Promise<ArrayLike<number>>;
}

/**
 * The tokenizer of a GGUF file: byte-level BPE (`gpt2`) or SentencePiece (`llama`, Gemma's among them).
 * Throws ERR_MISSING, ERR_FORMAT, ERR_LIMIT, and ERR_UNSUPPORTED for other kinds.
 */
export async function tokenizerFromGguf(metadata: TokenizerMetadata): Promise<Tokenizer> {
  const model = metadata.string("tokenizer.ggml.model", undefined) ?? missing("tokenizer.ggml.model");
  if (model !== "gpt2" && model !== "llama") {
    throw new HalfbyteError("ERR_UNSUPPORTED", "tokenizers of this kind are not known", {
      place: "tokenizer.ggml.model",
      expected: "gpt2 or llama",
      got: JSON.stringify(model.slice(0, 100)),
    });
  }
  const entries = await strings(metadata, "tokenizer.ggml.tokens");
  const size = entries.offsets.length - 1;
  if (size < 1 || size > MAX_VOCABULARY) {
    throw new HalfbyteError(size < 1 ? "ERR_FORMAT" : "ERR_LIMIT", "wrong number of entries", {
      place: "tokenizer.ggml.tokens",
      expected: `1 to ${MAX_VOCABULARY}`,
      got: String(size),
    });
  }
  const kinds = await readKinds(metadata, size);
  return model === "gpt2" ? byteLevel(metadata, entries, kinds) : sentencePiece(metadata, entries, kinds);
}

async function byteLevel(metadata: TokenizerMetadata, entries: StringTable, kinds: Uint8Array): Promise<Tokenizer> {
  const kind = splitKind(metadata.string("tokenizer.ggml.pre", "default"));
  const merges = await strings(metadata, "tokenizer.ggml.merges");
  const vocabulary = new Vocabulary(byteLevelPieces(entries, kinds), kinds);
  const model = new ByteLevelModel(vocabulary, byteLevelMerges(vocabulary, merges), {
    steps: kind.patterns.map((pattern) => splitBy(splitPattern(pattern))),
    normalize: kind.composes ? (text) => text.normalize("NFC") : (text) => text,
    ignoreMerges: kind.ignoreMerges ?? false,
  });
  const added = addedTokens(entries, kinds);
  return new VocabularyTokenizer(
    vocabulary,
    model,
    added,
    traits(metadata, added, kinds.length, kind.addsBos ?? false, false),
  );
}

/** Merges are spelt "left right" in GPT-2's alphabet, which has no space. One that names no entry can make none. */
function byteLevelMerges(vocabulary: Vocabulary, { bytes, offsets }: StringTable): SpeltMerges {
  const count = offsets.length - 1;
  const list = new SpeltMerges(vocabulary, count);
  let scratch = new Uint8Array(256);
  for (let i = 0; i < count; i++) {
    const start = offsets[i]!;
    const end = offsets[i + 1]!;
    if (end - start > scratch.length) scratch = new Uint8Array(end - start);
    let space = start + 1;
    while (space < end && bytes[space] !== 0x20) space++;
    if (space >= end) continue;
    const middle = writeSpeltBytes(bytes, start, space, scratch, 0);
    const last = middle === undefined ? undefined : writeSpeltBytes(bytes, space + 1, end, scratch, middle);
    if (middle === undefined || last === undefined) continue;
    const merged = vocabulary.find(scratch, 0, last);
    if (merged !== undefined) list.add(merged, middle);
  }
  return list;
}

async function sentencePiece(metadata: TokenizerMetadata, entries: StringTable, kinds: Uint8Array): Promise<Tokenizer> {
  const size = kinds.length;
  if (!metadata.has("tokenizer.ggml.scores")) missing("tokenizer.ggml.scores");
  const scores = await metadata.numbers("tokenizer.ggml.scores");
  checkLength("tokenizer.ggml.scores", scores.length, size);
  for (let id = 0; id < size; id++) {
    if (!Number.isFinite(scores[id]))
      throw new HalfbyteError("ERR_FORMAT", "a score is no number", { place: `tokenizer.ggml.scores[${id}]` });
  }
  const idOfByte = new Int32Array(256).fill(-1);
  const vocabulary = new Vocabulary(sentencePieces(entries, kinds, idOfByte), kinds);
  const added = addedTokens(entries, kinds);
  const spacePrefix = metadata.boolean("tokenizer.ggml.add_space_prefix", true);
  const chosen = traits(metadata, added, size, true, spacePrefix);
  const model = new PieceModel(vocabulary, new ScoredPieces(vocabulary, scores), {
    normalize: (text) => text,
    spacePrefix: spacePrefix ? "segments" : "none",
    prefixOnlyUnspaced: false,
    splitsWords: false,
    idOfByte,
    unknownId: chosen.unknownId,
    fusesUnknown: true,
  });
  return new VocabularyTokenizer(vocabulary, model, added, chosen);
}

async function readKinds(metadata: TokenizerMetadata, size: number): Promise<Uint8Array> {
  if (!metadata.has("tokenizer.ggml.token_type")) return new Uint8Array(size).fill(TokenKind.normal);
  const types = await metadata.numbers("tokenizer.ggml.token_type");
  checkLength("tokenizer.ggml.token_type", types.length, size);
  const kinds = new Uint8Array(size);
  for (let id = 0; id < size; id++) {
    const type = types[id]!;
    // Kind 0 is "undefined" in the format's own table, and such entries are text.
    kinds[id] = type >= TokenKind.normal && type <= TokenKind.byte ? type : TokenKind.normal;
  }
  return kinds;
}

function addedTokens({ bytes, offsets }: StringTable, kinds: Uint8Array): AddedToken[] {
  const added: AddedToken[] = [];
  for (let id = 0; id < kinds.length; id++) {
    const kind = kinds[id];
    const special = kind === TokenKind.control || kind === TokenKind.unknown;
    if (!special && kind !== TokenKind.userDefined) continue;
    const content = decodeUtf8(bytes.subarray(offsets[id]!, offsets[id + 1]!), `tokenizer.ggml.tokens[${id}]`);
    added.push({ id, content, special });
  }
  return added;
}

function traits(
  metadata: TokenizerMetadata,
  added: readonly AddedToken[],
  size: number,
  addsBos: boolean,
  stripsLeadingSpace: boolean,
): TokenizerTraits {
  const idAt = (name: string): number | undefined => {
    const place = `tokenizer.ggml.${name}_token_id`;
    const id = metadata.number(place, undefined);
    if (id === undefined || id === 0xffffffff || id === -1) return undefined; // both are written for "none"
    if (Number.isInteger(id) && id >= 0 && id < size) return id;
    throw new HalfbyteError("ERR_FORMAT", "no entry has this id", {
      place,
      expected: `0 to ${size - 1}`,
      got: String(id),
    });
  };
  const eosId = idAt("eos");
  return {
    bosId: idAt("bos"),
    eosId,
    unknownId: idAt("unknown"),
    paddingId: idAt("padding"),
    endOfGenerationIds: endOfGeneration([eosId, idAt("eot"), idAt("eom")], added),
    addBosByDefault: metadata.boolean("tokenizer.ggml.add_bos_token", addsBos),
    stripsLeadingSpace,
  };
}

function checkLength(place: string, got: number, expected: number): void {
  if (got !== expected) {
    throw new HalfbyteError("ERR_FORMAT", "as many values as entries are needed", {
      place,
      expected: String(expected),
      got: String(got),
    });
  }
}

async function strings(metadata: TokenizerMetadata, key: string): Promise<StringTable> {
  return metadata.has(key) ? metadata.stringTable(key) : missing(key);
}

function missing(place: string): never {
  throw new HalfbyteError("ERR_MISSING", "the file has no tokenizer of its own", {
    place,
    remedy: "use a GGUF file that was made with its vocabulary",
  });
}
