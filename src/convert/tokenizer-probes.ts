import { HalfbyteError } from "../errors.ts";
import type { Tokenizer } from "../text/tokenizer.ts";

/**
 * Texts on which tokenizers that differ at all tend to differ. Runs of spaces end at 31: longer ones SentencePiece cuts by
 * its longest piece and lists of merges otherwise, in the files of the models' own makers too. Spaces, numerals, cases, scripts, signs, broken characters.
 */
const PROBES: readonly string[] = [
  "",
  " ",
  "  two  spaces   and    four ",
  "\n\n\tindented\r\n\r\n  more\n ",
  "Hello, world! It's what they'll've DON'T said; I'M here.",
  "1 12 123 1234 12345 3.14159 1,000,000 ½ ²³ Ⅷ ٣٤٥",
  "HTTPServer camelCase snake_case kebab-case SCREAMING_CASE x86_64",
  "Größe, naïve café, señor, œuvre, Ångström, e\u0301 \u00e9",
  "Привет, мир! Ещё раз. Ελληνικά. עברית. العربية",
  "日本語のテキスト。漢字とカタカナ、ひらがな。中文文本,没有空格。한국어 문장",
  "emoji 😀👩‍👩‍👧‍👦🏳️‍🌈 end, flags 🇩🇪🇫🇷",
  "for (let i = 0; i < n; i++) { a[i] ??= `{b}\\n`; } // comment",
  "<html lang='en'>&amp;</html> {\"key\": [null, true, -1.5e-10]}",
  "https://example.org/path?q=1&r=%20#frag user@example.org ~/.config $HOME",
  "$$$ ### *** --- ___ +++ === !!! ??? ... ,,, ;;; ::: ((( ))) [[[ ]]]",
  "\u0000\u0001\u007f\u0085\u00a0\u200b\u2028\ufeff\ufffd\u{10ffff}",
  "▁▁a ▁ b Ġ Ċ <0x0A> [UNK] <unk> </s>",
  `${"a".repeat(70)} ${" ".repeat(30)}${"\n".repeat(12)}${"=".repeat(70)}`,
];
/** Entries of a vocabulary that are tried in one text. */
const ENTRIES_A_TEXT = 64;
/** Texts of entries: enough to meet every part of a large vocabulary, few enough to take a second. */
const MAX_ENTRY_TEXTS = 1500;

/**
 * Throws ERR_UNSUPPORTED, with the text, unless two tokenizers give the same tokens for texts of many kinds, for their
 * entries strung together, and the same special ids.
 */
export function checkSameTokens(from: Tokenizer, to: Tokenizer, format: string): void {
  const { bosId, eosId, addBosByDefault } = from;
  if (to.bosId !== bosId || to.eosId !== eosId || to.addBosByDefault !== addBosByDefault)
    throw refusal(
      format,
      `bos ${bosId}, eos ${eosId}, bos added: ${addBosByDefault}`,
      `bos ${to.bosId}, eos ${to.eosId}, bos added: ${to.addBosByDefault}`,
    );
  for (const text of [...PROBES, ...entryTexts(from)]) {
    for (const parseSpecial of [false, true]) {
      const expected = from.encode(text, { parseSpecial });
      const got = to.encode(text, { parseSpecial });
      const at = expected.findIndex((id, i) => id !== got[i]);
      if (at < 0 && got.length === expected.length) continue;
      const shown = JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
      throw refusal(format, `ids of ${shown} to have ${expected[at]} at ${at}`, String(got[at]));
    }
  }
}

function* entryTexts(tokenizer: Tokenizer): Generator<string> {
  const { vocabularySize } = tokenizer;
  const texts = Math.min(MAX_ENTRY_TEXTS, Math.ceil(vocabularySize / ENTRIES_A_TEXT));
  const step = vocabularySize / texts;
  for (let t = 0; t < texts; t++) {
    const first = Math.floor(t * step);
    const count = Math.min(ENTRIES_A_TEXT, vocabularySize - first);
    yield tokenizer.decode(Array.from({ length: count }, (_, i) => first + i));
  }
}

function refusal(format: string, expected: string, got: string): HalfbyteError {
  return new HalfbyteError("ERR_UNSUPPORTED", `${format} cannot say how this tokenizer works`, {
    place: "tokenizer",
    expected,
    got,
  });
}
