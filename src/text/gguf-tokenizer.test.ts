import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { gemmaPath, smollm2Path } from "../../test/models.ts";
import { openGguf } from "../formats/gguf/open-gguf.ts";
import { openFileSource } from "../formats/node-file-source.ts";
import { tokenizerFromGguf } from "./gguf-tokenizer.ts";
import { IncrementalDetokenizer } from "./incremental-detokenizer.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** See "tokens" in docs/text.md: absent fields equal the one before them. */
interface TokenCase {
  text: string;
  text_seen?: string;
  ids: number[];
  ids_special?: number[];
  decoded?: string;
  decoded_special?: string;
  decoded_skip_special?: string;
  llama_cpp_ids?: number[];
  llama_cpp_ids_special?: number[];
}

function golden<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`../../test/golden/${name}`, import.meta.url), "utf8"));
}

async function open(path: string): Promise<Tokenizer> {
  const gguf = await openGguf(await openFileSource(path));
  try {
    return await tokenizerFromGguf(gguf.metadata);
  } finally {
    await gguf.close();
  }
}

function incrementally(tokenizer: Tokenizer, ids: readonly number[], skipSpecial: boolean): string {
  const detokenizer = new IncrementalDetokenizer(tokenizer, { skipSpecial });
  return ids.map((id) => detokenizer.push(id)).join("") + detokenizer.flush();
}

describe.each([
  { model: "SmolLM2", file: "tokens-smollm2.json", path: await smollm2Path() },
  { model: "Gemma 3", file: "tokens-gemma3.json", path: await gemmaPath() },
])("the tokenizer of $model", ({ model, file, path }) => {
  describe.skipIf(!path)(path ? "of the real file" : `is skipped: ${model} is not in the cache`, async () => {
    const tokenizer = path ? await open(path) : (undefined as unknown as Tokenizer);
    const { cases } = golden<{ cases: TokenCase[] }>(file);

    // Where SentencePiece itself and Hugging Face's copy differ (runs of more than 31 spaces), SentencePiece's way will do.
    it.each(cases)(
      "gives the true ids of $text",
      ({ text, ids, ids_special, llama_cpp_ids, llama_cpp_ids_special }) => {
        const encoded = [...tokenizer.encode(text, { addBos: false })];
        expect([ids, llama_cpp_ids]).toContainEqual(encoded);
        const parsed = [...tokenizer.encode(text, { addBos: false, parseSpecial: true })];
        expect([ids_special ?? ids, llama_cpp_ids_special]).toContainEqual(parsed);
      },
    );

    it.each(cases)("gives the true text of the ids of $text", (it) => {
      const decoded = it.decoded ?? it.text_seen ?? it.text;
      const special = it.decoded_special ?? decoded;
      const skipped = it.decoded_skip_special ?? special;
      const specialIds = it.ids_special ?? it.ids;
      expect(tokenizer.decode(it.ids)).toBe(decoded);
      expect(tokenizer.decode(specialIds)).toBe(special);
      expect(tokenizer.decode(specialIds, { skipSpecial: true })).toBe(skipped);
      expect(incrementally(tokenizer, it.ids, false)).toBe(decoded);
      expect(incrementally(tokenizer, specialIds, true)).toBe(skipped);
    });

    it("encodes a million letters without a space in bounded time", () => {
      const started = performance.now();
      expect(tokenizer.encode("a".repeat(1_000_000)).length).toBeGreaterThan(0);
      // 0.3 to 0.5 s on a 2-CPU server; merging that is quadratic in the word would take hours.
      expect(performance.now() - started).toBeLessThan(20_000);
    });
  });
});

describe.skipIf(!(await smollm2Path()))("SmolLM2's rendered conversations", async () => {
  const path = await smollm2Path();
  const tokenizer = path ? await open(path) : (undefined as unknown as Tokenizer);
  const { cases } = golden<{ cases: { name: string; rendered: string; ids: number[] }[] }>("chat-smollm2.json");
  it.each(cases)("give the true ids: $name", ({ rendered, ids }) => {
    expect([...tokenizer.encode(rendered, { parseSpecial: true })]).toEqual(ids);
  });

  it("has SmolLM2's special ids", () => {
    expect(tokenizer).toMatchObject({ vocabularySize: 49152, bosId: 1, eosId: 2, unknownId: 0, paddingId: 2 });
    expect(tokenizer.addBosByDefault).toBe(false);
    expect([...tokenizer.endOfGenerationIds].sort()).toEqual([0, 2]);
    expect(tokenizer.isSpecial(1)).toBe(true);
    expect(tokenizer.isSpecial(198)).toBe(false);
    expect(tokenizer.addedTokenId("<|im_end|>")).toBe(2);
  });
});

describe.skipIf(!(await gemmaPath()))("Gemma's special ids", async () => {
  const path = await gemmaPath();
  const tokenizer = path ? await open(path) : (undefined as unknown as Tokenizer);
  it("are those of the file", () => {
    expect(tokenizer).toMatchObject({ vocabularySize: 262144, bosId: 2, eosId: 1, unknownId: 3, paddingId: 0 });
    expect([...tokenizer.encode("Hi")].slice(0, 1)).toEqual([2]);
    expect([...tokenizer.endOfGenerationIds].sort()).toEqual([1, 106]);
  });
});
