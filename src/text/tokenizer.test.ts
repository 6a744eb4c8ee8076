import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type TokenizerMetadata, tokenizerFromGguf } from "./gguf-tokenizer.ts";
import { tokenizerFromHuggingFace } from "./hugging-face-tokenizer.ts";
import { IncrementalDetokenizer } from "./incremental-detokenizer.ts";
import { packStrings } from "./string-table.ts";
import type { Tokenizer } from "./tokenizer.ts";

interface Golden {
  name: string;
  tokenizer: unknown;
  config: unknown;
}

const path = new URL("../../test/golden/tokenizers.json", import.meta.url);
const golden: Golden[] = JSON.parse(readFileSync(path, "utf8")).tokenizers;

function open(name: string): Promise<Tokenizer> {
  const { tokenizer, config } = golden.find((one) => one.name === name)!;
  const json = async (file: string): Promise<unknown> => (file === "tokenizer.json" ? tokenizer : config);
  return tokenizerFromHuggingFace({ config: {}, generationConfig: undefined, json });
}

const anyText = fc.string({ unit: "binary", maxLength: 60 });
const plainText = fc.string({ unit: fc.constantFrom(..."ab the \n<|im_start|>é日😀▁'s12"), maxLength: 60 });
const text = fc.oneof(anyText, plainText);

describe("byte-level BPE", async () => {
  const tokenizer = await open("as Llama 3");
  it("decodes to what it encoded, for any text, special tokens parsed or not", () => {
    fc.assert(
      fc.property(text, fc.boolean(), (given, parseSpecial) => {
        const ids = tokenizer.encode(given, { addBos: false, parseSpecial });
        expect(tokenizer.decode(ids)).toBe(given.toWellFormed());
      }),
    );
  });

  it("never makes a special token of plain text", () => {
    fc.assert(
      fc.property(text, (given) => {
        const ids = tokenizer.encode(`${given}<|eot_id|>${given}`, { addBos: false });
        expect([...ids].some((id) => tokenizer.isSpecial(id))).toBe(false);
      }),
    );
  });
});

describe("SentencePiece-style BPE", async () => {
  it.each(["as Llama 2", "as Gemma"])("decodes to what it encoded, but for U+2581, %s", async (name) => {
    const tokenizer = await open(name);
    fc.assert(
      fc.property(text, (given) => {
        const ids = tokenizer.encode(given, { addBos: false });
        expect(tokenizer.decode(ids)).toBe(given.toWellFormed().replaceAll("▁", " "));
      }),
    );
  });
});

describe.each(["as Llama 3", "as Llama 2", "as Gemma"])(
  "IncrementalDetokenizer, tokens of a tokenizer %s",
  async (name) => {
    const tokenizer = await open(name);
    const tokens = fc.array(fc.nat(tokenizer.vocabularySize - 1), { maxLength: 30 });

    it("gives in pieces what decode gives as a whole, for any tokens", () => {
      fc.assert(
        fc.property(tokens, fc.boolean(), (ids, skipSpecial) => {
          const detokenizer = new IncrementalDetokenizer(tokenizer, { skipSpecial });
          const pieces = ids.map((id) => detokenizer.push(id));
          expect(pieces.join("") + detokenizer.flush()).toBe(tokenizer.decode(ids, { skipSpecial }));
        }),
      );
    });

    it("never gives half a character of a text", () => {
      fc.assert(
        fc.property(anyText, (given) => {
          const whole = given.toWellFormed().replaceAll("\ufffd", "");
          const detokenizer = new IncrementalDetokenizer(tokenizer);
          for (const id of tokenizer.encode(whole, { addBos: false })) {
            const piece = detokenizer.push(id);
            expect(piece.isWellFormed()).toBe(true);
            expect(piece).not.toContain("\ufffd");
          }
          expect(detokenizer.flush()).toBe("");
        }),
      );
    });
  },
);

describe("IncrementalDetokenizer", () => {
  const pieces = [" one", " ", "\xe2\x82", "\xac", "<s>", "\xef\xbb\xbf", "\xff"];
  const source = {
    stripsLeadingSpace: true,
    tokenBytes: (id: number): Uint8Array => Uint8Array.from(pieces[id]!, (char) => char.charCodeAt(0)),
    isSpecial: (id: number): boolean => id === 4,
  };

  it("takes the first space away, and only that", () => {
    const detokenizer = new IncrementalDetokenizer(source, { skipSpecial: true });
    expect([4, 1, 0, 0].map((id) => detokenizer.push(id))).toEqual(["", "", " one", " one"]);
  });

  it("keeps it where the tokens go on with a text", () => {
    const detokenizer = new IncrementalDetokenizer(source, { startsText: false });
    expect(detokenizer.push(0)).toBe(" one");
  });

  it("waits for the rest of a character, and shows that it never came", () => {
    const detokenizer = new IncrementalDetokenizer(source);
    expect([2, 3, 2].map((id) => detokenizer.push(id))).toEqual(["", "€", ""]);
    expect(detokenizer.flush()).toBe("\ufffd");
  });

  it("keeps byte order marks and shows bytes that are no UTF-8", () => {
    const detokenizer = new IncrementalDetokenizer(source);
    expect([5, 6].map((id) => detokenizer.push(id))).toEqual(["\ufeff", "\ufffd"]);
  });
});

describe("encode", async () => {
  const tokenizer = await open("as Llama 2");
  it("puts the beginning token in front where the model wants it, or where it is told to", () => {
    expect(tokenizer.encode("")[0]).toBe(1);
    expect(tokenizer.encode("", { addBos: false })).toHaveLength(0);
  });

  it("refuses a text past its limit", () => {
    expect(() => tokenizer.encode("a".repeat(2 ** 24 + 1))).toThrow(expect.objectContaining({ code: "ERR_LIMIT" }));
  });

  it.each([-1, 1.5, Number.NaN, 1e9])("knows no token %s", (id) => {
    expect(() => tokenizer.decode([id])).toThrow(expect.objectContaining({ code: "ERR_ARGUMENT" }));
  });
});

describe.each(["as Llama 3", "as Qwen 2 and 3", "as Mistral's Tekken", "as Llama 2", "as Gemma"])(
  "a long text without a place to cut, tokenizer %s",
  async (name) => {
    const tokenizer = await open(name);
    it.each(["a", " ", "\n", "1", "é", "'", "A", "aA", "<", "▁", "\ud800", "日", "\u0301", "ᄀ", "<|", "word"])(
      "is encoded in bounded time: %j",
      (unit) => {
        const started = performance.now();
        const long = unit.repeat(200_000 / unit.length);
        expect(tokenizer.encode(long, { parseSpecial: true }).length).toBeGreaterThan(0);
        // Some 0.1 s; quadratic merging or matching would take minutes.
        expect(performance.now() - started).toBeLessThan(20_000);
      },
    );
  },
);

/** Metadata as a GGUF file would have it. */
function metadata(values: Record<string, unknown>): TokenizerMetadata {
  const get = <T>(key: string, absent: T): T => (key in values ? (values[key] as T) : absent);
  return {
    has: (key) => key in values,
    string: get as TokenizerMetadata["string"],
    number: get as TokenizerMetadata["number"],
    boolean: get as TokenizerMetadata["boolean"],
    stringTable: async (key) => packStrings(Array.from(values[key] as ArrayLike<string>, (text) => text ?? "")),
    numbers: async (key) => values[key] as number[],
  };
}

const pieces = {
  "tokenizer.ggml.model": "llama",
  "tokenizer.ggml.tokens": ["<unk>", "<s>", "</s>", "<0x41>", "a", "b", "ab", "▁", "▁ab", "<u>"],
  "tokenizer.ggml.scores": [0, 0, 0, 0, -10, -11, -1, -12, -2, 0],
  "tokenizer.ggml.token_type": [2, 3, 3, 6, 1, 1, 1, 1, 1, 4],
  "tokenizer.ggml.bos_token_id": 1,
  "tokenizer.ggml.eos_token_id": 2,
  "tokenizer.ggml.unknown_token_id": 0,
};
const bytes = {
  "tokenizer.ggml.model": "gpt2",
  "tokenizer.ggml.pre": "gpt-2",
  "tokenizer.ggml.tokens": ["a", "b", "ab", "Ġ", "Ġab", "<x>"],
  "tokenizer.ggml.token_type": [1, 1, 1, 1, 1, 3],
  "tokenizer.ggml.merges": ["a b", "Ġ ab"],
};

describe("a GGUF vocabulary of SentencePiece", () => {
  it("merges the best score first and puts a space in front of text, as llama.cpp does", async () => {
    const tokenizer = await tokenizerFromGguf(metadata(pieces));
    expect([...tokenizer.encode("ab")]).toEqual([1, 8]);
    expect([...tokenizer.encode("abab")]).toEqual([1, 8, 6]);
    expect([...tokenizer.encode("ab</s>ab", { parseSpecial: true })]).toEqual([1, 8, 2, 8]);
    expect([...tokenizer.encode("A", { addBos: false })]).toEqual([7, 3]);
    expect([...tokenizer.encode("xyz", { addBos: false })]).toEqual([7, 0]);
    expect([...tokenizer.encode("a<u>b", { addBos: false })]).toEqual([7, 4, 9, 7, 5]);
    expect(tokenizer.decode([8, 8])).toBe("ab ab");
    expect(tokenizer.decode([1, 8], { skipSpecial: true })).toBe("ab");
  });

  it("puts none where the file says so", async () => {
    const tokenizer = await tokenizerFromGguf(metadata({ ...pieces, "tokenizer.ggml.add_space_prefix": false }));
    expect([...tokenizer.encode("ab")]).toEqual([1, 6]);
    expect(tokenizer.decode([8])).toBe(" ab");
  });
});

describe("a GGUF vocabulary of bytes", () => {
  it("merges by its list", async () => {
    const tokenizer = await tokenizerFromGguf(metadata(bytes));
    expect([...tokenizer.encode("ab ab<x>a")]).toEqual([2, 4, 0]);
    expect([...tokenizer.encode("ab ab<x>a", { parseSpecial: true })]).toEqual([2, 4, 5, 0]);
  });

  it("knows an entry that several merges make by each of them, the earlier first", async () => {
    const tokens = ["a", "b", "c", "ab", "bc", "abc"];
    const ids = async (merges: readonly string[], given: string): Promise<number[]> => {
      const values = { ...bytes, "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.merges": merges };
      delete (values as Record<string, unknown>)["tokenizer.ggml.token_type"];
      return [...(await tokenizerFromGguf(metadata(values))).encode(given)];
    };
    expect(await ids(["a b", "b c", "a bc", "ab c", "a bc"], "abc")).toEqual([5]);
    expect(await ids(["b c", "a b", "ab c", "a bc"], "abc")).toEqual([5]);
    expect(await ids(["b c", "a b", "ab c"], "abc")).toEqual([0, 4]);
    expect(await ids(["a b", "b c", "a bc"], "abc")).toEqual([3, 2]);
  });

  it("refuses more merges into one entry than any text could need", async () => {
    const whole = "a".repeat(2000);
    const merges = Array.from({ length: 1999 }, (_, i) => `${whole.slice(0, i + 1)} ${whole.slice(i + 1)}`);
    const values = { ...bytes, "tokenizer.ggml.tokens": ["a", whole], "tokenizer.ggml.merges": merges };
    delete (values as Record<string, unknown>)["tokenizer.ggml.token_type"];
    await expect(tokenizerFromGguf(metadata(values))).rejects.toThrow(expect.objectContaining({ code: "ERR_LIMIT" }));
  });

  it("names the ways of splitting it knows when it meets another", async () => {
    const other = metadata({ ...bytes, "tokenizer.ggml.pre": "made-up" });
    await expect(tokenizerFromGguf(other)).rejects.toThrow(
      expect.objectContaining({
        code: "ERR_UNSUPPORTED",
        got: '"made-up"',
        expected: expect.stringMatching(/smollm.*llama-bpe.*qwen2.*default/),
      }),
    );
  });
});

describe("tokenizerFromGguf", () => {
  it.each([
    ["no kind", pieces, { "tokenizer.ggml.model": undefined }, "ERR_MISSING"],
    ["an unknown kind", pieces, { "tokenizer.ggml.model": "t5" }, "ERR_UNSUPPORTED"],
    ["no entries", pieces, { "tokenizer.ggml.tokens": [] }, "ERR_FORMAT"],
    ["scores of another number", pieces, { "tokenizer.ggml.scores": [1] }, "ERR_FORMAT"],
    ["scores that are no numbers", pieces, { "tokenizer.ggml.scores": new Array(10).fill(Number.NaN) }, "ERR_FORMAT"],
    ["kinds of another number", pieces, { "tokenizer.ggml.token_type": [1] }, "ERR_FORMAT"],
    ["a byte of no name", pieces, { "tokenizer.ggml.token_type": [2, 3, 3, 6, 6, 1, 1, 1, 1, 4] }, "ERR_FORMAT"],
    ["an end token out of range", pieces, { "tokenizer.ggml.eos_token_id": 10 }, "ERR_FORMAT"],
    ["a beginning token that is no id", pieces, { "tokenizer.ggml.bos_token_id": 0.5 }, "ERR_FORMAT"],
    ["too many entries", pieces, { "tokenizer.ggml.tokens": { length: 2 ** 21 } }, "ERR_LIMIT"],
    ["too many merges", bytes, { "tokenizer.ggml.merges": { length: 2 ** 21 } }, "ERR_LIMIT"],
  ])("refuses %s", async (_name, base, change, code) => {
    const values = { ...base, ...change };
    for (const key of Object.keys(values))
      if (values[key as keyof typeof values] === undefined) delete values[key as keyof typeof values];
    await expect(tokenizerFromGguf(metadata(values))).rejects.toThrow(expect.objectContaining({ code }));
  });

  it.each(["tokens", "merges"])("says that %s are missing", async (name) => {
    const values: Record<string, unknown> = { ...bytes };
    delete values[`tokenizer.ggml.${name}`];
    await expect(tokenizerFromGguf(metadata(values))).rejects.toThrow(expect.objectContaining({ code: "ERR_MISSING" }));
  });

  it("skips merges that name no entries, and takes -1 and 2^32 - 1 as no token", async () => {
    const merges = ["a b", "x y", "nospace", "", " ", "a ", "日 本"];
    const tokenizer = await tokenizerFromGguf(
      metadata({
        ...bytes,
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.bos_token_id": 0xffffffff,
        "tokenizer.ggml.eos_token_id": -1,
      }),
    );
    expect([...tokenizer.encode("ab")]).toEqual([2]);
    expect(tokenizer.bosId).toBeUndefined();
    expect(tokenizer.eosId).toBeUndefined();
  });

  it("never fails without a typed error, whatever the entries are", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("gpt2", "llama"),
        fc.array(
          fc.record({ text: fc.string({ unit: "binary", maxLength: 4 }), kind: fc.nat(7), score: fc.double() }),
          { minLength: 1, maxLength: 20 },
        ),
        fc.array(fc.string({ unit: "binary", maxLength: 6 }), { maxLength: 10 }),
        text,
        async (model, entries, merges, given) => {
          const values = {
            "tokenizer.ggml.model": model,
            "tokenizer.ggml.tokens": entries.map((entry) => entry.text),
            "tokenizer.ggml.token_type": entries.map((entry) => entry.kind),
            "tokenizer.ggml.scores": entries.map((entry) => entry.score),
            "tokenizer.ggml.merges": merges,
          };
          try {
            const tokenizer = await tokenizerFromGguf(metadata(values));
            tokenizer.decode(tokenizer.encode(given, { parseSpecial: true }));
          } catch (error) {
            expect(error).toHaveProperty("name", "HalfbyteError");
          }
        },
      ),
    );
  });
});
