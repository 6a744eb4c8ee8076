import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tokenizerFromHuggingFace } from "./hugging-face-tokenizer.ts";
import { IncrementalDetokenizer } from "./incremental-detokenizer.ts";
import type { Tokenizer } from "./tokenizer.ts";

interface Golden {
  name: string;
  tokenizer: Record<string, unknown>;
  config: Record<string, unknown>;
  /** `ids_special` only where it differs from `ids`, `ids_bos` from that, `decoded_skip_special` from `decoded`. */
  cases: {
    text: string;
    ids: number[];
    ids_special?: number[];
    ids_bos?: number[];
    decoded: string;
    decoded_skip_special?: string;
  }[];
}

const path = new URL("../../test/golden/tokenizers.json", import.meta.url);
const golden: Golden[] = JSON.parse(readFileSync(path, "utf8")).tokenizers;

function open(
  tokenizer: unknown,
  settings: unknown = {},
  config = {},
  generationConfig?: Record<string, unknown>,
): Promise<Tokenizer> {
  const json = async (name: string): Promise<unknown> => (name === "tokenizer.json" ? tokenizer : settings);
  return tokenizerFromHuggingFace({ config, generationConfig, json });
}

describe.each(golden)("a tokenizer.json $name", async ({ tokenizer: json, config, cases }) => {
  const tokenizer = await open(json, config);
  it.each(cases)("encodes and decodes $text as Hugging Face's library does", (truth) => {
    const special = truth.ids_special ?? truth.ids;
    expect([...tokenizer.encode(truth.text, { addBos: false })]).toEqual(truth.ids);
    expect([...tokenizer.encode(truth.text, { addBos: false, parseSpecial: true })]).toEqual(special);
    expect([...tokenizer.encode(truth.text, { parseSpecial: true })]).toEqual(truth.ids_bos ?? special);
    expect(tokenizer.decode(special)).toBe(truth.decoded);
    expect(tokenizer.decode(special, { skipSpecial: true })).toBe(truth.decoded_skip_special ?? truth.decoded);
    const detokenizer = new IncrementalDetokenizer(tokenizer);
    expect(special.map((id) => detokenizer.push(id)).join("") + detokenizer.flush()).toBe(truth.decoded);
  });
});

describe("tokenizerFromHuggingFace", () => {
  const base = golden[0]!.tokenizer;
  const model = base.model as Record<string, unknown>;

  it("takes the end tokens from every file that names some", async () => {
    const tokenizer = await open(base, golden[0]!.config, { eos_token_id: 7 }, { eos_token_id: [8, 9] });
    expect(tokenizer.eosId).toBe(tokenizer.addedTokenId("<|eot_id|>"));
    expect([...tokenizer.endOfGenerationIds].sort((a, b) => a - b)).toEqual([7, 8, 9, tokenizer.eosId]);
  });

  it("has an id for every row of the model's output", async () => {
    const tokenizer = await open(base, {}, { vocab_size: 1000 });
    expect(tokenizer.vocabularySize).toBe(1000);
    expect(tokenizer.decode([999])).toBe("");
    expect(() => tokenizer.decode([1000])).toThrow(expect.objectContaining({ code: "ERR_ARGUMENT" }));
  });

  it.each([
    ["a Unigram model", { model: { type: "Unigram", vocab: [] } }, "ERR_UNSUPPORTED"],
    ["a WordPiece model", { model: { type: "WordPiece", vocab: {} } }, "ERR_UNSUPPORTED"],
    ["affixes", { model: { ...model, end_of_word_suffix: "</w>" } }, "ERR_UNSUPPORTED"],
    ["an unknown normalizer", { normalizer: { type: "BertNormalizer" } }, "ERR_UNSUPPORTED"],
    ["an unknown pre-tokenizer", { pre_tokenizer: { type: "BertPreTokenizer" } }, "ERR_UNSUPPORTED"],
    [
      "an expression of its own, which could take exponential time",
      { pre_tokenizer: { type: "Split", pattern: { Regex: "(a+)+$" }, behavior: "Isolated" } },
      "ERR_UNSUPPORTED",
    ],
    ["no vocabulary", { model: { type: "BPE", merges: [] } }, "ERR_FORMAT"],
    ["ids that are none", { model: { type: "BPE", vocab: { a: 1.5 }, merges: [] } }, "ERR_FORMAT"],
    ["an id too large", { model: { type: "BPE", vocab: { a: 2 ** 31 }, merges: [] } }, "ERR_FORMAT"],
    ["merges of nothing known", { model: { type: "BPE", vocab: { a: 0 }, merges: ["a b"] } }, "ERR_FORMAT"],
    [
      "merges that make nothing known",
      { model: { type: "BPE", vocab: { a: 0, b: 1 }, merges: ["a b"] } },
      "ERR_FORMAT",
    ],
    ["merges of inherited names", { model: { type: "BPE", vocab: { a: 0 }, merges: ["a constructor"] } }, "ERR_FORMAT"],
    ["merges that are no pairs", { model: { type: "BPE", vocab: {}, merges: [5] } }, "ERR_FORMAT"],
    ["added tokens that are no list", { added_tokens: {} }, "ERR_FORMAT"],
    ["added tokens without ids", { added_tokens: [{ content: "a" }] }, "ERR_FORMAT"],
    ["a sequence that is none", { normalizer: { type: "Sequence", normalizers: 5 } }, "ERR_FORMAT"],
  ])("refuses %s", async (_name, change, code) => {
    await expect(open({ ...base, ...change })).rejects.toThrow(expect.objectContaining({ code }));
  });

  it("never fails without a typed error, whatever part of a file is damaged", async () => {
    const junk = fc.constantFrom<unknown>(
      null,
      -1,
      0,
      1,
      1.5,
      2 ** 20,
      1e300,
      "",
      "x",
      "BPE",
      "\ud800",
      [],
      [[]],
      {},
      true,
    );
    const steps = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...golden), steps, junk, async ({ tokenizer: json, config }, path, value) => {
        const damaged = structuredClone(json);
        let node: unknown = damaged;
        for (const [i, step] of path.entries()) {
          const keys = Object.keys(node as object);
          const key = keys[Math.min(Math.floor(step * keys.length), keys.length - 1)];
          if (key === undefined) break;
          const inner: unknown = (node as Record<string, unknown>)[key];
          if (i === path.length - 1 || typeof inner !== "object" || inner === null) {
            (node as Record<string, unknown>)[key] = value;
            break;
          }
          node = inner;
        }
        try {
          const tokenizer = await open(damaged, config);
          tokenizer.decode(tokenizer.encode("Some words, 12 and 日本 <s>", { parseSpecial: true }));
        } catch (error) {
          expect(error).toHaveProperty("name", "HalfbyteError");
        }
      }),
      { numRuns: 500 },
    );
  });

  it("says that there is no tokenizer.json", async () => {
    await expect(open(undefined)).rejects.toThrow(expect.objectContaining({ code: "ERR_MISSING" }));
  });
});
