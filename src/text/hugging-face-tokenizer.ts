import { HalfbyteError } from "../errors.ts";
import { isJsonObject, type JsonObject } from "../formats/json.ts";
import type { AddedToken } from "./added-tokens.ts";
import { byteLevelPieces } from "./byte-alphabet.ts";
import { ByteLevelModel } from "./byte-level-model.ts";
import { endOfGeneration } from "./end-tokens.ts";
import { broken, readPipeline, type TextPipeline } from "./hugging-face-pipeline.ts";
import { MergeList } from "./pair-ranks.ts";
import { PieceModel } from "./piece-model.ts";
import { sentencePieces } from "./piece-table.ts";
import { packStrings } from "./string-table.ts";
import type { TextModel } from "./text-model.ts";
import { type Tokenizer, type TokenizerTraits, VocabularyTokenizer } from "./tokenizer.ts";
import { MAX_VOCABULARY, TokenKind, Vocabulary } from "./vocabulary.ts";

/** What a tokenizer needs of a Hugging Face model; `HuggingFaceFolder` has it. */
export interface TokenizerFiles {
  readonly config: JsonObject;
  readonly generationConfig: JsonObject | undefined;
  json(fileName: string): Promise<unknown>;
}

/**
 * The tokenizer of a Hugging Face model, from tokenizer.json and what tokenizer_config.json, generation_config.json and
 * config.json say of its special tokens. It knows BPE, of bytes and of SentencePiece's characters.
 * Throws ERR_MISSING, ERR_FORMAT, ERR_LIMIT, and ERR_UNSUPPORTED for other models and parts.
 */
export async function tokenizerFromHuggingFace(files: TokenizerFiles): Promise<Tokenizer> {
  const [tokenizer, settings] = await Promise.all([files.json("tokenizer.json"), files.json("tokenizer_config.json")]);
  if (tokenizer === undefined) {
    throw new HalfbyteError("ERR_MISSING", "the model has no tokenizer", {
      place: "tokenizer.json",
      remedy: "save its tokenizer as tokenizer.json, as transformers' fast tokenizers do",
    });
  }
  if (!isJsonObject(tokenizer)) throw broken("the file", "an object");
  const config = isJsonObject(settings) ? settings : {};
  return build(tokenizer, config, files);
}

function build(tokenizer: JsonObject, settings: JsonObject, files: TokenizerFiles): Tokenizer {
  const { model } = tokenizer;
  if (!isJsonObject(model)) throw broken("model", "an object");
  if (model.type !== "BPE" && !(model.type === undefined && "merges" in model)) {
    throw unsupportedModel(String(model.type).slice(0, 100));
  }
  for (const key of ["continuing_subword_prefix", "end_of_word_suffix"]) {
    if (model[key]) throw unsupportedModel(`a ${key}`);
  }
  const pipeline = readPipeline(tokenizer);
  const ids = readIds(model.vocab);
  const added = readAddedTokens(tokenizer.added_tokens, pipeline.normalize);
  const { entries, kinds } = readEntries(ids, added, model, largestVocabulary(files.config));
  const idOf = (content: unknown): number | undefined => {
    const text = isJsonObject(content) ? content.content : content;
    return typeof text === "string"
      ? (added.find((token) => token.content === text)?.id ?? lookup(ids, text))
      : undefined;
  };
  const unknownId = idOf(model.unk_token) ?? idOf(settings.unk_token);
  const idOfByte = new Int32Array(256).fill(-1);
  const table = packStrings(entries);
  const vocabulary = new Vocabulary(
    pipeline.byteLevel ? byteLevelPieces(table, kinds) : sentencePieces(table, kinds, idOfByte),
    kinds,
  );
  const merges = readMerges(model.merges, ids, vocabulary);
  const textModel: TextModel = pipeline.byteLevel
    ? new ByteLevelModel(vocabulary, merges, { ...pipeline, ignoreMerges: model.ignore_merges === true })
    : new PieceModel(vocabulary, merges, {
        ...pipeline,
        idOfByte,
        unknownId: idOf(model.unk_token),
        fusesUnknown: model.fuse_unk === true,
      });
  const beginning = firstSpecial(tokenizer.post_processor);
  const bosId = idOf(settings.bos_token) ?? idOf(beginning);
  const eosId = idOf(settings.eos_token);
  const ends = [eosId, ...endIds(files.generationConfig), ...endIds(files.config)];
  const traits: TokenizerTraits = {
    bosId,
    eosId,
    unknownId,
    paddingId: idOf(settings.pad_token),
    endOfGenerationIds: endOfGeneration(
      ends.filter((id) => id === undefined || id < kinds.length),
      added,
    ),
    addBosByDefault:
      typeof settings.add_bos_token === "boolean"
        ? settings.add_bos_token
        : bosId !== undefined && idOf(beginning) === bosId,
    stripsLeadingSpace: !pipeline.byteLevel && stripsSpace(tokenizer.decoder, pipeline),
  };
  return new VocabularyTokenizer(vocabulary, textModel, added, traits);
}

/** Entries with their ids, as the file has them: a Map of 262,144 entries would take as long as reading the file. */
type Ids = Readonly<Record<string, number>>;

function readIds(vocab: unknown): Ids {
  if (!isJsonObject(vocab)) throw broken("model.vocab", "an object");
  for (const text in vocab) checkedId(vocab[text], "model.vocab");
  return vocab as Ids;
}

function lookup(ids: Ids, text: string): number | undefined {
  const id: unknown = ids[text];
  return typeof id === "number" ? id : undefined; // "constructor" finds what every object has
}

function checkedId(id: unknown, place: string): number {
  if (typeof id === "number" && Number.isInteger(id) && id >= 0 && id < MAX_VOCABULARY) return id;
  throw broken(place, `ids from 0 to ${MAX_VOCABULARY - 1}`);
}

function readAddedTokens(list: unknown, normalize: (text: string) => string): AddedToken[] {
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list) || list.length > MAX_VOCABULARY) throw broken("added_tokens", "a list");
  return list.map((entry): AddedToken => {
    if (!isJsonObject(entry) || typeof entry.content !== "string") throw broken("added_tokens", "ids with contents");
    const content = entry.content.toWellFormed();
    return {
      id: checkedId(entry.id, "added_tokens"),
      content: entry.normalized === true ? normalize(content) : content,
      special: entry.special === true,
      normalized: entry.normalized === true,
      stripsLeft: entry.lstrip === true,
      stripsRight: entry.rstrip === true,
      singleWord: entry.single_word === true,
    };
  });
}

/** Entries by id; ids that nothing names, up to the model's own vocabulary size, are unused and spell nothing. */
function readEntries(
  ids: Ids,
  added: readonly AddedToken[],
  model: JsonObject,
  modelSize: number,
): { entries: string[]; kinds: Uint8Array } {
  let size = modelSize;
  for (const text in ids) if (ids[text]! >= size) size = ids[text]! + 1;
  for (const { id } of added) if (id >= size) size = id + 1;
  const entries: string[] = new Array(size).fill("");
  const kinds = new Uint8Array(size).fill(TokenKind.unused);
  const bytes = model.byte_fallback === true;
  for (const text in ids) {
    const id = ids[text]!;
    entries[id] = text;
    kinds[id] = bytes && /^<0x[0-9A-F]{2}>$/.test(text) ? TokenKind.byte : TokenKind.normal;
  }
  for (const token of added) {
    entries[token.id] = token.content;
    kinds[token.id] = token.special ? TokenKind.control : TokenKind.userDefined;
  }
  return { entries, kinds };
}

/** Rows of the model's output; the vocabulary may have fewer entries. */
function largestVocabulary(config: JsonObject): number {
  const inner = config.text_config;
  const size = config.vocab_size ?? (isJsonObject(inner) ? inner.vocab_size : undefined);
  return typeof size === "number" && Number.isInteger(size) && size > 0 && size <= MAX_VOCABULARY ? size : 0;
}

function readMerges(list: unknown, ids: Ids, vocabulary: Vocabulary): MergeList {
  if (!Array.isArray(list)) throw broken("model.merges", "a list");
  const merges = new MergeList(list.length);
  for (let i = 0; i < list.length; i++) {
    const pair: unknown = typeof list[i] === "string" ? list[i].split(" ") : list[i];
    const [left, right]: unknown[] = Array.isArray(pair) && pair.length === 2 ? pair : [];
    if (typeof left !== "string" || typeof right !== "string") throw broken(`model.merges[${i}]`, "two entries");
    const leftId = lookup(ids, left);
    const rightId = lookup(ids, right);
    if (leftId === undefined || rightId === undefined) throw broken(`model.merges[${i}]`, "two entries");
    const merged = vocabulary.findPair(leftId, rightId) ?? lookup(ids, left + right);
    if (merged === undefined) throw broken(`model.merges[${i}]`, "two entries that make a third");
    merges.add(leftId, rightId, merged);
  }
  return merges;
}

/** The special token that a TemplateProcessing puts in front of a text. */
function firstSpecial(processor: unknown): unknown {
  if (!isJsonObject(processor)) return undefined;
  if (processor.type === "Sequence" && Array.isArray(processor.processors)) {
    return processor.processors.map(firstSpecial).find((content) => content !== undefined);
  }
  const first = Array.isArray(processor.single) ? processor.single[0] : undefined;
  const special = isJsonObject(first) ? first.SpecialToken : undefined;
  return processor.type === "TemplateProcessing" && isJsonObject(special) ? special.id : undefined;
}

function endIds(config: JsonObject | undefined): number[] {
  const ids = config?.eos_token_id;
  return [ids].flat().filter((id): id is number => typeof id === "number" && Number.isInteger(id) && id >= 0);
}

function stripsSpace(decoder: unknown, pipeline: TextPipeline): boolean {
  if (!isJsonObject(decoder)) return false;
  const inner = decoder.decoders;
  if (Array.isArray(inner)) return inner.some((part) => stripsSpace(part, pipeline));
  if (decoder.type === "Metaspace") return pipeline.spacePrefix !== "none";
  return decoder.type === "Strip" && decoder.content === " " && decoder.start === 1;
}

function unsupportedModel(got: string): HalfbyteError {
  return new HalfbyteError("ERR_UNSUPPORTED", "tokenizers of this kind are not known", {
    place: "tokenizer.json, model",
    expected: "BPE without affixes",
    got,
  });
}
