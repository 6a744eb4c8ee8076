import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { convert } from "./convert.ts";

const MODEL = fileURLToPath(new URL("../../test/golden/llama-q4_0.gguf", import.meta.url));

describe("halfbyte convert", () => {
  let folder: string;
  let printed: string;
  /** What is done when so much of standard error was written. */
  let onError: (text: string) => void;
  const never = new AbortController().signal;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "halfbyte-convert-"));
    printed = "";
    onError = () => {};
    vi.spyOn(process.stdout, "write").mockImplementation((text) => {
      printed += text;
      return true;
    });
    vi.spyOn(process.stderr, "write").mockImplementation((text) => {
      onError(String(text));
      return true;
    });
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await rm(folder, { recursive: true, force: true });
  });

  it("writes a folder and says what it wrote", async () => {
    const out = join(folder, "model");
    await convert(MODEL, out, { to: "gptq", json: true }, never);
    const said = JSON.parse(printed);
    expect(said).toMatchObject({ input: MODEL, output: out, to: "gptq", lossless: true, rounded: [] });
    expect(said.notes).toEqual([expect.stringMatching(/^floats, since gptq has no place.*model\.embed_tokens$/)]);
    expect((await readdir(out)).sort()).toEqual([
      ...["config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"],
    ]);
    const config = JSON.parse(await readFile(join(out, "config.json"), "utf8"));
    expect(config.quantization_config).toMatchObject({
      ...{ quant_method: "gptq", bits: 4, group_size: 32, sym: true, desc_act: false, checkpoint_format: "gptq" },
    });
  });

  it("leaves nothing behind when it is interrupted while it writes", async () => {
    const interrupt = new AbortController();
    let said = "";
    onError = (text) => {
      said += text;
      if (text.includes("writing")) interrupt.abort(new DOMException("interrupted", "AbortError"));
    };
    const converting = convert(MODEL, join(folder, "model"), { to: "f32" }, interrupt.signal);
    await expect(converting).rejects.toThrow(/interrupted/);
    expect(said).toMatch(/interrupted; nothing was written\n$/);
    expect(await readdir(folder)).toEqual([]);
  });

  it("names the folder of a model that is broken", async () => {
    const model = join(folder, "broken");
    await mkdir(model);
    const conversion = () => convert(model, join(folder, "out"), { to: "f32", quiet: true }, never);
    await expect(conversion()).rejects.toThrow(`${model}: the model has no config.json`);
    await writeFile(join(model, "config.json"), "{}");
    await expect(conversion()).rejects.toThrow(`${model}: the model has neither model.safetensors nor`);
    const index = { weight_map: { a: "model-00001-of-00001.safetensors" } };
    await writeFile(join(model, "model.safetensors.index.json"), JSON.stringify(index));
    await expect(conversion()).rejects.toThrow(
      `${model}, "model-00001-of-00001.safetensors": a file of the model is missing`,
    );
  });

  it("writes nothing where a tensor cannot be held, and names it", async () => {
    await expect(convert(MODEL, join(folder, "model"), { to: "f16", quiet: true }, never)).rejects.toThrow(
      /^token_embd\.weight: f16 cannot hold this tensor exactly.*--lossy/,
    );
    expect(await readdir(folder)).toEqual([]);
  });

  it("rounds where it is told to, and says what", async () => {
    await convert(MODEL, join(folder, "model"), { to: "f16", lossy: true, json: true, quiet: true }, never);
    const { lossless, rounded } = JSON.parse(printed);
    expect(lossless).toBe(false);
    expect(rounded).toContain("token_embd.weight");
  });

  it.each([
    ["nothing", "gguf:q9", "no such encoding"],
    ["model", "gguf", "does not fit"],
    ["model.gguf", "awq", "does not fit"],
  ])("refuses %s as %s", async (name, to, message) => {
    await expect(convert(MODEL, join(folder, name), { to, quiet: true }, never)).rejects.toThrow(
      expect.objectContaining({ code: "ERR_ARGUMENT", message: expect.stringContaining(message) }),
    );
  });
});
