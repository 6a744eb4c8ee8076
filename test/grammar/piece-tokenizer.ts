import type { ConstraintTokenizer } from "../../src/grammar/vocabulary-trie.ts";

/** Pieces that JSON is made of in real vocabularies: words, runs of spaces, punctuation that joins, parts of characters. */
const JSON_PIECES: readonly string[] = [
  ..."aeiou bcd efg st the ing false true null 10 00 19 99 -1 0. .5 e+ http :// @ex .com 2024 -02 T1 :0 Z 1f ab".split(
    " ",
  ),
  ...["  ", "    ", "\n", "\n  ", "\n\n", "\t", ' "', '":', '": ', '",', '", "', '"}', '"]', "},", "}}", "{}", "[]"],
  ...['{"', '["', "[{", "]}", "\\u", "\\n", '\\"', "\\\\", "\\ud83d", "\\ude00", "é", "日本", "😀", "Ж", "ß,"],
  ...["name", '"name"', "id", '{"a":', ", ", ": ", "foo", "<think>", "</think>", "</", "think>"],
];

/** A tokenizer of all bytes and some pieces; its last token is the end, the one before a marker. */
export function pieceTokenizer(
  pieces: readonly (string | Uint8Array)[] = JSON_PIECES,
  marker = "<|tool|>",
): ConstraintTokenizer {
  const encoder = new TextEncoder();
  const tokens = [
    ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
    // Halves of characters, as byte-level merges make them.
    Uint8Array.of(0xe6, 0x97),
    Uint8Array.of(0xf0, 0x9f, 0x98),
    Uint8Array.of(0x22, 0xc3),
    ...pieces.map((piece) => (typeof piece === "string" ? encoder.encode(piece) : piece)),
    encoder.encode(marker),
    encoder.encode("<|end|>"),
  ];
  const [markerId, endId] = [tokens.length - 2, tokens.length - 1];
  return {
    vocabularySize: tokens.length,
    endOfGenerationIds: new Set([endId]),
    tokenBytes: (id) => tokens[id]!,
    isSpecial: (id) => id >= markerId,
    addedTokenId: (content) => (content === marker ? markerId : undefined),
  };
}
