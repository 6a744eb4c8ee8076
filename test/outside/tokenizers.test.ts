import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { tokenizerFiles } from "../../src/convert/tokenizer-to-folder.ts";
import { openGguf } from "../../src/formats/gguf/open-gguf.ts";
import { openFileSource } from "../../src/formats/node-file-source.ts";
import { gemmaPath, smollm2Path } from "../models.ts";
import { outsidePython } from "./python.ts";

interface TokenCase {
  readonly text: string;
  readonly ids: number[];
  readonly ids_special?: number[];
  readonly llama_cpp_ids_special?: number[];
  readonly llama_cpp_ids?: number[];
}

const python = await outsidePython();
const folder = await mkdtemp(join(tmpdir(), "halfbyte-tokenizers-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

describe.each([
  { model: "SmolLM2", file: "tokens-smollm2.json", path: await smollm2Path() },
  { model: "Gemma 3", file: "tokens-gemma3.json", path: await gemmaPath() },
])("tokenizer.json made of the GGUF file of $model", ({ model, file, path }) => {
  const skipped = typeof python === "string" ? python : path ? undefined : `${model} is not in the cache`;

  it.skipIf(skipped)(
    `gives the true tokens in the package tokenizers${skipped ? ` (skipped: ${skipped})` : ""}`,
    async () => {
      if (typeof python === "string" || !path) return;
      const gguf = await openGguf(await openFileSource(path));
      const files = await tokenizerFiles(gguf.metadata, {}).finally(() => gguf.close());
      const json = join(folder, `${file}.tokenizer.json`);
      await writeFile(json, files.get("tokenizer.json") as string);
      const { cases } = JSON.parse(await readFile(new URL(`../golden/${file}`, import.meta.url), "utf8")) as {
        cases: TokenCase[];
      };
      // Half a surrogate pair is no text for Python.
      const texts = cases.filter(({ text }) => text.isWellFormed());
      const input = JSON.stringify(texts.map(({ text }) => text));
      const ids: number[][] = JSON.parse(await python.run("encode_texts.py", [json], input));
      for (const [i, { text, ids: plain, ids_special, llama_cpp_ids, llama_cpp_ids_special }] of texts.entries()) {
        const special = [ids_special ?? plain, llama_cpp_ids_special ?? llama_cpp_ids];
        expect(special, text).toContainEqual(ids[i]);
      }
    },
  );
});
