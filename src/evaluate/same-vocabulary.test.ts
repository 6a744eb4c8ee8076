import { describe, expect, it } from "vitest";
import type { Tokenizer } from "../text/tokenizer.ts";
import { checkSameVocabulary, type Vocabulary } from "./same-vocabulary.ts";

/** Tokens are letters, but for "ab" where `merges`. */
function letters(tokens: readonly string[], { size = tokens.length, merges = true } = {}): Vocabulary {
  const encode = (text: string): Int32Array =>
    Int32Array.from((merges ? text.match(/ab|./g) : [...text]) ?? [], (piece) => tokens.indexOf(piece));
  const tokenBytes = (id: number): Uint8Array => new TextEncoder().encode(tokens[id]);
  return {
    name: tokens.join(""),
    size,
    tokenizer: { vocabularySize: tokens.length, encode, tokenBytes } as unknown as Tokenizer,
  };
}

describe("vocabularies", () => {
  const one = letters(["a", "b", "c", "ab"], { size: 5 });

  it("are the same where only their padding differs", () => {
    expect(() => checkSameVocabulary(one, letters(["a", "b", "c", "ab", "[PAD]"]), "abc")).not.toThrow();
  });

  it.each([
    ["have other sizes", letters(["a", "b", "c", "ab"]), "5 tokens, as abcab has it, got 4 tokens"],
    ["have another token", letters(["a", "b", "d", "ab"], { size: 5 }), 'token 2 "c"'],
    ["cut the text otherwise", letters(["a", "b", "c", "ab"], { size: 5, merges: false }), 'token 0 of the text "ab"'],
  ])("that %s cannot be compared", (_, other, told) => {
    expect(() => checkSameVocabulary(one, other, "abc")).toThrow(
      expect.objectContaining({ code: "ERR_ARGUMENT", message: expect.stringContaining(told) }),
    );
  });
});
