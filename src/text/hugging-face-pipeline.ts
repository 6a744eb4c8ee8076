import { HalfbyteError } from "../errors.ts";
import { isJsonObject, type JsonObject } from "../formats/json.ts";
import { GPT2_PATTERN, splitPattern } from "./split-patterns.ts";
import { type SplitBehavior, type SplitStep, spaceInFront, splitBy } from "./text-model.ts";

/** What the normalizer and the pre-tokenizer of a tokenizer.json do, as one thing. */
export interface TextPipeline {
  readonly normalize: (text: string) => string;
  readonly steps: readonly SplitStep[];
  /** Text becomes bytes in GPT-2's alphabet. */
  readonly byteLevel: boolean;
  /** SentencePiece's space in front: see piece-model.ts. */
  readonly spacePrefix: "none" | "start" | "segments";
  readonly prefixOnlyUnspaced: boolean;
  readonly splitsWords: boolean;
}

type Draft = { -readonly [Key in keyof TextPipeline]: TextPipeline[Key] } & { steps: SplitStep[] };

const PIECE_SPACE = "\u2581";

/** Reads `normalizer` and `pre_tokenizer`. Throws ERR_UNSUPPORTED for parts that are not known, ERR_FORMAT for broken ones. */
export function readPipeline(tokenizer: JsonObject): TextPipeline {
  const draft: Draft = {
    normalize: (text) => text,
    steps: [],
    byteLevel: false,
    spacePrefix: "none",
    prefixOnlyUnspaced: false,
    splitsWords: false,
  };
  for (const part of flatten(tokenizer.normalizer, "normalizers", "normalizer")) addNormalizer(part, draft);
  for (const part of flatten(tokenizer.pre_tokenizer, "pretokenizers", "pre_tokenizer")) addPreTokenizer(part, draft);
  return draft;
}

/** The parts of a Sequence, or the one part there is. */
function flatten(part: unknown, list: string, place: string): JsonObject[] {
  if (part === null || part === undefined) return [];
  if (!isJsonObject(part)) throw broken(place, "an object");
  if (part.type !== "Sequence") return [part];
  const parts = part[list];
  if (!Array.isArray(parts)) throw broken(`${place}.${list}`, "a list");
  return parts.flatMap((inner) => flatten(inner, list, place));
}

function addNormalizer(part: JsonObject, draft: Draft): void {
  const before = draft.normalize;
  switch (part.type) {
    case "NFC":
    case "NFD":
    case "NFKC":
    case "NFKD": {
      const form = part.type;
      draft.normalize = (text) => before(text).normalize(form);
      return;
    }
    case "Replace": {
      const from = isJsonObject(part.pattern) ? part.pattern.String : undefined;
      const to = part.content;
      if (typeof from !== "string" || from === "" || typeof to !== "string") {
        throw unsupported("normalizer", "a Replace of anything but a fixed text");
      }
      draft.normalize = (text) => before(text).replaceAll(from, () => to);
      return;
    }
    case "Prepend":
      if (part.prepend !== PIECE_SPACE) throw unsupported("normalizer", "a Prepend of anything but U+2581");
      draft.spacePrefix = "segments";
      return;
    default:
      throw unsupported("normalizer", String(part.type).slice(0, 100));
  }
}

function addPreTokenizer(part: JsonObject, draft: Draft): void {
  switch (part.type) {
    case "ByteLevel":
      draft.byteLevel = true;
      if (part.add_prefix_space === true) draft.steps.push(spaceInFront);
      if (part.use_regex !== false) draft.steps.push(splitBy(splitPattern(GPT2_PATTERN)));
      return;
    case "Digits":
      draft.steps.push(splitBy(splitPattern(part.individual_digits === true ? "\\p{N}" : "\\p{N}+")));
      return;
    case "Split":
      draft.steps.push(readSplit(part));
      return;
    case "Metaspace": {
      const scheme = part.prepend_scheme ?? (part.add_prefix_space === false ? "never" : "always");
      draft.spacePrefix = scheme === "never" ? "none" : scheme === "first" ? "start" : "segments";
      draft.prefixOnlyUnspaced = true;
      draft.splitsWords = part.split !== false;
      return;
    }
    default:
      throw unsupported("pre_tokenizer", String(part.type).slice(0, 100));
  }
}

const behaviors: readonly unknown[] = ["Isolated", "Removed", "MergedWithPrevious", "MergedWithNext"];

function readSplit(part: JsonObject): SplitStep {
  const { pattern, behavior, invert } = part;
  if (!behaviors.includes(behavior)) throw unsupported("pre_tokenizer", `a Split that is ${String(behavior)}`);
  const { String: text, Regex: regex } = isJsonObject(pattern) ? pattern : {};
  if (typeof text === "string" && text !== "") {
    const escaped = text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
    return splitBy(new RegExp(escaped, "gu"), behavior as SplitBehavior, invert === true);
  }
  if (typeof regex !== "string") throw broken("pre_tokenizer.pattern", "a Regex or a String");
  return splitBy(splitPattern(regex), behavior as SplitBehavior, invert === true);
}

function unsupported(place: string, got: string): HalfbyteError {
  return new HalfbyteError("ERR_UNSUPPORTED", "a part of the tokenizer is not known", {
    place: `tokenizer.json, ${place}`,
    expected:
      place === "normalizer"
        ? "NFC, NFD, NFKC, NFKD, Replace, Prepend, Sequence"
        : "ByteLevel, Digits, Split, Metaspace, Sequence",
    got,
  });
}

/** The error for a tokenizer.json that is not of its format. */
export function broken(place: string, expected: string): HalfbyteError {
  return new HalfbyteError("ERR_FORMAT", "the tokenizer is not readable", {
    place: `tokenizer.json, ${place}`,
    expected,
  });
}
