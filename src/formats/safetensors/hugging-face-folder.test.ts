import { describe, expect, it } from "vitest";
import { goldenPath } from "../../../test/golden-data.ts";
import { writeSafetensors } from "../../../test/safetensors-writer.ts";
import type { ErrorCode } from "../../errors.ts";
import type { ByteSource } from "../byte-source.ts";
import { memorySource } from "../memory-source.ts";
import { openFileSource } from "../node-file-source.ts";
import { safetensorsFloats, safetensorsMatrix } from "../read-tensor.ts";
import { openHuggingFaceFolder } from "./hugging-face-folder.ts";

type Files = Record<string, string | object | Uint8Array>;

/** A folder in memory; counts the sources that are open. */
function folder(files: Files): { open: (name: string) => Promise<ByteSource | undefined>; openCount: () => number } {
  let count = 0;
  const open = async (name: string): Promise<ByteSource | undefined> => {
    const file = Object.hasOwn(files, name) ? files[name] : undefined;
    if (file === undefined) return undefined;
    const text = typeof file === "string" ? file : JSON.stringify(file);
    const source = memorySource(file instanceof Uint8Array ? file : new TextEncoder().encode(text), name);
    count++;
    const close = (): Promise<void> => {
      count--;
      return source.close();
    };
    return { ...source, close };
  };
  return { open, openCount: () => count };
}

const shard = (name: string): Uint8Array =>
  writeSafetensors(
    { [name]: { dtype: "F32", shape: [1, 2], data_offsets: [0, 8] } },
    new Uint8Array(Float32Array.of(1, -2).buffer),
  );
const sharded = (weightMap: unknown): Files => ({
  "config.json": { model_type: "llama" },
  "model.safetensors.index.json": { metadata: { total_size: 16 }, weight_map: weightMap },
  "model-00001-of-00002.safetensors": shard("a"),
  "model-00002-of-00002.safetensors": shard("b"),
});

describe("a Hugging Face folder", () => {
  it("of one file gives config, tensors and other files on demand", async () => {
    const { open, openCount } = folder({
      "config.json": `\uFEFF${JSON.stringify({ model_type: "llama" })}`,
      "generation_config.json": { eos_token_id: 2 },
      "model.safetensors": shard("a"),
      "tokenizer.json": { version: "1.0" },
      "chat_template.jinja": "{{ messages }}",
      "tokenizer.model": Uint8Array.of(10, 3),
    });
    const model = await openHuggingFaceFolder(open);
    expect(model.config).toEqual({ model_type: "llama" });
    expect(model.generationConfig).toEqual({ eos_token_id: 2 });
    expect(await model.json("tokenizer.json")).toEqual({ version: "1.0" });
    expect(await model.text("chat_template.jinja")).toBe("{{ messages }}");
    expect(await model.bytes("tokenizer.model")).toEqual(Uint8Array.of(10, 3));
    expect(await model.json("special_tokens_map.json")).toBeUndefined();
    expect(await safetensorsFloats(model.tensors.get("a")!)).toEqual(Float32Array.of(1, -2));
    expect(openCount()).toBe(1);
    await model.close();
    expect(openCount()).toBe(0);
  });

  it("of several files gives the tensors of all", async () => {
    const { open, openCount } = folder(
      sharded({ b: "model-00002-of-00002.safetensors", a: "model-00001-of-00002.safetensors" }),
    );
    const model = await openHuggingFaceFolder(open);
    expect([...model.tensors.keys()].sort()).toEqual(["a", "b"]);
    expect(model.tensors.get("b")!.source.name).toBe("model-00002-of-00002.safetensors");
    expect(model.generationConfig).toBeUndefined();
    await model.close();
    expect(openCount()).toBe(0);
  });

  const first = "model-00001-of-00002.safetensors";
  it.each<[string, Files, ErrorCode, RegExp]>([
    ["no config.json", { "model.safetensors": shard("a") }, "ERR_MISSING", /config\.json/],
    ["no weights", { "config.json": {} }, "ERR_MISSING", /neither/],
    ["a config that is no JSON", { "config.json": "{" }, "ERR_FORMAT", /config\.json: not JSON/],
    ["a config that is no object", { "config.json": "[]" }, "ERR_FORMAT", /not a JSON object/],
    ["a config that is no text", { "config.json": Uint8Array.of(0xff) }, "ERR_FORMAT", /UTF-8/],
    ["an absurd config", { "config.json": " ".repeat(5_000_000) }, "ERR_LIMIT", /too large/],
    [
      "a config that nests too deep",
      { "config.json": `{"a":"[","b":${"[".repeat(4e6)}` },
      "ERR_LIMIT",
      /nests too deep/,
    ],
    ["an index without a map", sharded(undefined), "ERR_FORMAT", /no weight_map/],
    ["a map that is a list", sharded(["a"]), "ERR_FORMAT", /no weight_map/],
    ["a map to numbers", sharded({ a: 1 }), "ERR_FORMAT", /beside the index/],
    ["a map out of the folder", sharded({ a: "../secret.safetensors" }), "ERR_FORMAT", /beside the index/],
    ["a map to an absolute path", sharded({ a: "/secret.safetensors" }), "ERR_FORMAT", /beside the index/],
    ["a map to a drive", sharded({ a: "C:x.safetensors" }), "ERR_FORMAT", /beside the index/],
    ["a map to another kind of file", sharded({ a: "config.json" }), "ERR_FORMAT", /beside the index/],
    ["a missing shard", sharded({ a: first, c: "model-3.safetensors" }), "ERR_MISSING", /model-3/],
    ["a tensor that its shard has not", sharded({ a: first, b: first }), "ERR_MISSING", /"b".*not in its file/],
    ["a cut shard", { ...sharded({ a: first }), [first]: shard("a").slice(0, -1) }, "ERR_TRUNCATED", /cut/],
  ])("is refused with %s, and nothing stays open", async (_, files, code, message) => {
    const { open, openCount } = folder(files);
    await expect(openHuggingFaceFolder(open)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    expect(openCount()).toBe(0);
  });

  it("refuses to take other tensors for matrices of floats", async () => {
    const header = {
      ids: { dtype: "I64", shape: [1], data_offsets: [0, 8] },
      none: { dtype: "F16", shape: [2, 0], data_offsets: [8, 8] },
    };
    const model = await openHuggingFaceFolder(
      folder({ "config.json": {}, "model.safetensors": writeSafetensors(header, 8) }).open,
    );
    await expect(safetensorsFloats(model.tensors.get("ids")!)).rejects.toMatchObject({ code: "ERR_UNSUPPORTED" });
    expect(() => safetensorsMatrix(model.tensors.get("ids")!)).toThrow(/not a float tensor/);
    expect(() => safetensorsMatrix(model.tensors.get("none")!)).toThrow(/not a matrix/);
  });
});

const golden = goldenPath("golden-models", "tiny", "llama", "config.json");
it.skipIf(!golden)(
  "a folder of transformers opens, and its matrices read by rows (skipped without golden data)",
  async () => {
    const model = await openHuggingFaceFolder(async (name) => {
      const path = goldenPath("golden-models", "tiny", "llama", name);
      return path === undefined ? undefined : openFileSource(path);
    });
    expect(model.config).toMatchObject({ model_type: "llama" });
    expect(await model.json("tokenizer.json")).toHaveProperty("model");
    const matrix = safetensorsMatrix(model.tensors.get("model.embed_tokens.weight")!);
    expect([matrix.N, matrix.K, matrix.rowBytes]).toEqual([512, 96, 192]);
    expect(matrix.like).toMatchObject({ kind: "float", type: "bf16", N: 0, K: 96 });
    const whole = await matrix.readRows(0, 512);
    const rows = await matrix.readRows(500, 12);
    expect(rows.kind === "float" && whole.kind === "float" && rows.values).toEqual(
      whole.kind === "float" && whole.values.slice(500 * 96),
    );
    await expect(matrix.readRows(500, 13)).rejects.toMatchObject({ code: "ERR_TRUNCATED" });
    await model.close();
  },
);
