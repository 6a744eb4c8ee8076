import { HalfbyteError } from "../errors.ts";

/**
 * Regular expressions that cut text into words before merging. Files name theirs by a kind (GGUF) or spell it out
 * (tokenizer.json). A spelt one is not run as it stands, for a hostile one could take exponential time: it is cut at
 * its top-level bars, and each alternative must be one of these, which are linear on any text. Here `\s` is Unicode's
 * white space, which JavaScript's is not (U+0085, U+FEFF), and `(?i:…)` is spelt out, which Node 20 does not know.
 */
const alternatives: ReadonlyMap<string, string> = new Map([
  ["'s", "'s"],
  ["'t", "'t"],
  ["'re", "'re"],
  ["'ve", "'ve"],
  ["'m", "'m"],
  ["'ll", "'ll"],
  ["'d", "'d"],
  ["'(?:[sdmt]|ll|ve|re)", "'(?:[sdmt]|ll|ve|re)"],
  ["(?i:'s|'t|'re|'ve|'m|'ll|'d)", "'(?:[sSſtTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])"],
  ["(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])", "'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])"],
  same(String.raw` ?\p{L}+`),
  same(String.raw` ?\p{N}+`),
  same(String.raw`[^\r\n\p{L}\p{N}]?\p{L}+`),
  same(String.raw`[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+`),
  ...withContractions(
    String.raw`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`,
    String.raw`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*`,
  ),
  same(String.raw`\p{N}`),
  same(String.raw`\p{N}+`),
  same(String.raw`\p{N}{1,3}`),
  ["\\d", "\\p{Nd}"],
  ["\\d+", "\\p{Nd}+"],
  ["\\d{1,3}", "\\p{Nd}{1,3}"],
  same("[0-9]"),
  same("[0-9][0-9][0-9]"),
  same(String.raw`[\p{P}\$\+<=>\^~\|]+`),
  same("[\\p{P}\\$\\+<=>\\^~\\|`]+"),
  same(String.raw` ?[^\s\p{L}\p{N}]+`),
  same(String.raw` ?[^\s\p{L}\p{N}]+[\r\n]*`),
  same(String.raw` ?[^\s\p{L}\p{N}]+[\r\n/]*`),
  same(String.raw` ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*`),
  same(String.raw`\s*[\r\n]+`),
  same(String.raw`\s+(?!\S)`),
  same(String.raw`\s+`),
]);

function same(source: string): [string, string] {
  return [source, source.replaceAll("\\s", "\\p{White_Space}").replaceAll("\\S", "\\P{White_Space}")];
}

function* withContractions(...stems: string[]): Generator<[string, string]> {
  for (const stem of stems) {
    yield [stem, stem];
    yield [`${stem}(?i:'s|'t|'re|'ve|'m|'ll|'d)?`, `${stem}(?:'(?:[sSſtTmMdD]|[rR][eE]|[vV][eE]|[lL][lL]))?`];
  }
}

/**
 * The JavaScript expression, global and Unicode-aware, for a pattern as tokenizer.json spells it.
 * Throws ERR_UNSUPPORTED when it is not made of known alternatives.
 */
export function splitPattern(pattern: string): RegExp {
  const parts = topLevelAlternatives(pattern).map((part) => {
    const known = alternatives.get(part);
    if (known !== undefined) return known;
    throw new HalfbyteError("ERR_UNSUPPORTED", "the tokenizer splits words by an expression that is not known", {
      place: "tokenizer",
      got: part.slice(0, 200),
    });
  });
  return new RegExp(parts.join("|"), "gu");
}

function topLevelAlternatives(pattern: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let inClass = false;
  let start = 0;
  for (let i = 0; i < pattern.length; i++) {
    const char = pattern[i];
    if (char === "\\") i++;
    else if (inClass) inClass = char !== "]";
    else if (char === "[") inClass = true;
    else if (char === "(") depth++;
    else if (char === ")") depth--;
    else if (char === "|" && depth === 0) {
      parts.push(pattern.slice(start, i));
      start = i + 1;
    }
  }
  parts.push(pattern.slice(start));
  return parts;
}

/** GPT-2's own expression, which ByteLevel in tokenizer.json implies. */
export const GPT2_PATTERN: string = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;
const contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const spaces = String.raw`\s*[\r\n]+|\s+(?!\S)|\s+`;
const llama3 = String.raw`${contractions}|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|${spaces}`;
const qwen2 = String.raw`${contractions}|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|${spaces}`;
const upperWords = String.raw`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`;
const lowerWords = String.raw`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*`;
const tekken = String.raw`${upperWords}|${lowerWords}|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|${spaces}`;
const gpt4o = String.raw`${upperWords}${contractions}?|${lowerWords}${contractions}?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|${spaces}`;

/** How a byte-level vocabulary treats text before merging. */
export interface SplitKind {
  /** Applied one after the other, each to the pieces the one before left. */
  readonly patterns: readonly string[];
  /** A whole word that is an entry is that entry, whatever the merges say. */
  readonly ignoreMerges?: boolean;
  readonly addsBos?: boolean;
  /** Text is brought to Unicode's form C first. */
  readonly composes?: boolean;
}

const digitsThenGpt2: SplitKind = { patterns: [String.raw`\p{N}`, GPT2_PATTERN] };
const gpt2: SplitKind = { patterns: [GPT2_PATTERN] };
const llama3Kind: SplitKind = { patterns: [llama3], ignoreMerges: true, addsBos: true };

/**
 * The kinds of `tokenizer.ggml.pre`, from the tokenizer.json files of the models they are named after and from llama.cpp's
 * table, which a GGUF file's writer had in mind.
 */
const kinds: ReadonlyMap<string, SplitKind> = new Map([
  ...["gpt-2", "phi-2", "jina-es", "jina-de", "mpt", "olmo", "jais", "trillion", "exaone4"].map(named(gpt2)),
  ...["smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"].map(named(digitsThenGpt2)),
  ...["llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral", "lfm2"].map(named(llama3Kind)),
  ...["dbrx", "smaug-bpe"].map(named({ patterns: [llama3] })),
  ["qwen2", { patterns: [qwen2], composes: true }],
  ...["stablelm2", "hunyuan", "grok-2"].map(named({ patterns: [qwen2] })),
  ["tekken", { patterns: [tekken], ignoreMerges: true, addsBos: true }],
  ...["gpt-4o", "llama4"].map(named({ patterns: [gpt4o] })),
  ["falcon", { patterns: ["[\\p{P}\\$\\+<=>\\^~\\|`]+", GPT2_PATTERN, "[0-9][0-9][0-9]"] }],
  ["default", { patterns: [String.raw`[\p{P}\$\+<=>\^~\|]+`, GPT2_PATTERN, String.raw`\p{N}+`, "[0-9][0-9][0-9]"] }],
]);

function named(kind: SplitKind): (name: string) => [string, SplitKind] {
  return (name) => [name, kind];
}

/** The kind of that name. Throws ERR_UNSUPPORTED with the names known. */
export function splitKind(name: string): SplitKind {
  const kind = kinds.get(name);
  if (kind) return kind;
  throw new HalfbyteError("ERR_UNSUPPORTED", "the way this tokenizer splits words is not known", {
    place: "tokenizer.ggml.pre",
    expected: `one of ${[...kinds.keys()].join(", ")}`,
    got: JSON.stringify(name.slice(0, 100)),
  });
}

/** The first kind that does the same, or undefined where none does. What a kind says of a beginning token is put aside. */
export function splitKindOf(wanted: SplitKind): string | undefined {
  const same = ({ patterns, composes = false, ignoreMerges = false }: SplitKind): boolean =>
    composes === (wanted.composes ?? false) &&
    ignoreMerges === (wanted.ignoreMerges ?? false) &&
    patterns.length === wanted.patterns.length &&
    patterns.every((pattern, i) => sameExpression(pattern, wanted.patterns[i]!));
  return [...kinds].find(([, kind]) => same(kind))?.[0];
}

/** Spellings differ: `(?i:'s|…)` and `(?:'[sS]|…)` are one. */
function sameExpression(a: string, b: string): boolean {
  return a === b || splitPattern(a).source === splitPattern(b).source;
}
