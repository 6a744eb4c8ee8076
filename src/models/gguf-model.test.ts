import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { type WrittenGguf, type WrittenTensor, type WrittenValue, writeGguf } from "../../test/gguf-writer.ts";
import { mutate, seededRandom } from "../../test/mutate.ts";
import { HalfbyteError } from "../errors.ts";
import { openGguf } from "../formats/gguf/open-gguf.ts";
import { memorySource } from "../formats/memory-source.ts";
import { type OpenModel, openModel } from "./open-model.ts";

type Keys = Record<string, WrittenValue | undefined>;

const F32 = 0;
const Q4_0 = 2;
const count = (value: number): WrittenValue => ({ type: "u32", value });
const real = (value: number): WrittenValue => ({ type: "f32", value });
const text = (value: string): WrittenValue => ({ type: "string", value });

/** A model of one or more layers, all zeros: hidden 32, two heads of 16 to one, feed-forward 64, vocabulary 48. */
function written(
  architecture: string,
  changes: Keys = {},
  layers = 1,
  extra: readonly WrittenTensor[] = [],
): WrittenGguf {
  const keys: Keys = {
    "general.architecture": text(architecture),
    [`${architecture}.block_count`]: count(layers),
    [`${architecture}.context_length`]: count(128),
    [`${architecture}.embedding_length`]: count(32),
    [`${architecture}.feed_forward_length`]: count(64),
    [`${architecture}.attention.head_count`]: count(2),
    [`${architecture}.attention.head_count_kv`]: count(1),
    [`${architecture}.attention.layer_norm_rms_epsilon`]: real(1e-6),
  };
  for (const [key, value] of Object.entries(changes))
    keys[key.includes("general.") ? key : `${architecture}.${key}`] = value;
  const vector = (name: string, length: number): WrittenTensor => ({ name, type: F32, shape: [length] });
  const matrix = (name: string, N: number, K: number): WrittenTensor => ({ name, type: Q4_0, shape: [K, N] });
  const tensors = [matrix("token_embd.weight", 48, 32), vector("output_norm.weight", 32)];
  for (let l = 0; l < layers; l++) {
    const of = (name: string): string => `blk.${l}.${name}`;
    tensors.push(
      vector(of("attn_norm.weight"), 32),
      matrix(of("attn_q.weight"), 32, 32),
      matrix(of("attn_k.weight"), 16, 32),
      matrix(of("attn_v.weight"), 16, 32),
      matrix(of("attn_output.weight"), 32, 32),
      vector(of("ffn_norm.weight"), 32),
      matrix(of("ffn_gate.weight"), 64, 32),
      matrix(of("ffn_up.weight"), 64, 32),
      matrix(of("ffn_down.weight"), 32, 64),
    );
    if (architecture === "qwen3" || architecture === "gemma3")
      tensors.push(vector(of("attn_q_norm.weight"), 16), vector(of("attn_k_norm.weight"), 16));
    if (architecture === "gemma3")
      tensors.push(vector(of("post_attention_norm.weight"), 32), vector(of("post_ffw_norm.weight"), 32));
  }
  const names = new Set(extra.map((tensor) => tensor.name));
  return {
    entries: Object.entries(keys).flatMap(([key, value]) => (value ? [[key, value] as const] : [])),
    tensors: [...tensors.filter((tensor) => !names.has(tensor.name)), ...extra],
  };
}

async function open(...args: Parameters<typeof written>): Promise<OpenModel> {
  return openModel(await openGguf(memorySource(writeGguf(written(...args)), "test.gguf")));
}

const floats = (...values: number[]): Uint8Array => new Uint8Array(Float32Array.from(values).buffer);

describe("a GGUF model", () => {
  it("ties the output to the embedding where the file has no output matrix: one matrix, named twice", async () => {
    const model = await open("llama");
    expect(model.config.tiedOutput).toBe(true);
    const plan = model.compile();
    expect(plan.matrices.filter(({ name }) => name === "token_embd.weight")).toHaveLength(1);
    expect(plan.matrices).toHaveLength(8);
    expect(model.weights.unused).toEqual([]);
  });

  it("uses biases, an output matrix and divisors of frequencies where their tensors are there", async () => {
    const model = await open("llama", {}, 1, [
      { name: "output.weight", type: Q4_0, shape: [32, 48] },
      { name: "blk.0.attn_q.bias", type: F32, shape: [32] },
      { name: "blk.0.attn_k.bias", type: F32, shape: [16] },
      { name: "blk.0.attn_v.bias", type: F32, shape: [16] },
      { name: "rope_freqs.weight", type: F32, shape: [8], data: floats(1, 1, 1, 2, 3, 4, 8, 8) },
      { name: "notes", type: F32, shape: [3] },
    ]);
    expect(model.config).toMatchObject({ tiedOutput: false, biases: { qkv: true, output: false, mlp: false } });
    expect(model.config.layers[0]?.rope.scaling).toEqual({ type: "divisors", divisors: [1, 1, 1, 2, 3, 4, 8, 8] });
    expect(model.weights.unused).toEqual(["notes"]);
    expect(model.compile({ activations: "a16", maxRows: 5, maxLogitRows: 2, cacheType: "f32" })).toMatchObject({
      activations: "a16",
      maxRows: 5,
      maxLogitRows: 2,
      cache: { type: "f32" },
    });
  });

  it("reads linear scaling under its old and new keys, and a window in every layer of llama", async () => {
    const scaled = { type: "linear", factor: 4 };
    expect((await open("llama", { "rope.scaling.factor": real(4) })).config.layers[0]?.rope.scaling).toEqual(scaled);
    expect((await open("llama", { "rope.scale_linear": real(4) })).config.layers[0]?.rope.scaling).toEqual(scaled);
    const none = { "rope.scaling.type": text("none"), "rope.scaling.factor": real(4) };
    expect((await open("llama", none)).config.layers[0]?.rope.scaling).toBeUndefined();
    const windowed = await open("llama", { "attention.sliding_window": count(16) }, 2);
    expect(windowed.config.layers.map((layer) => layer.window)).toEqual([16, 16]);
  });

  it("gives Gemma 3 its pattern of layers: by default, by a period, by a list", async () => {
    const windows = async (changes: Keys): Promise<(number | undefined)[]> =>
      (await open("gemma3", { "attention.sliding_window": count(8), ...changes }, 7)).config.layers.map(
        (l) => l.window,
      );
    const key = "attention.sliding_window_pattern";
    expect(await windows({})).toEqual([8, 8, 8, 8, 8, undefined, 8]);
    expect(await windows({ [key]: count(2) })).toEqual([8, undefined, 8, undefined, 8, undefined, 8]);
    const flags = [true, true, false, true, true, false, false];
    const list = await windows({ [key]: { type: "array", of: "bool", value: flags } });
    expect(list).toEqual([8, 8, undefined, 8, 8, undefined, undefined]);
    await expect(windows({ [key]: { type: "array", of: "bool", value: [true] } })).rejects.toMatchObject({
      code: "ERR_SHAPE",
    });
    const { config } = await open(
      "gemma3",
      { "attention.sliding_window": count(8), "rope.scaling.factor": real(8) },
      6,
    );
    expect(config.layers[0]?.rope).toEqual({ rotary: 16, base: 10_000 });
    expect(config.layers[5]?.rope.scaling).toEqual({ type: "linear", factor: 8 });
  });

  it.each<[string, RegExp, Keys, string?]>([
    ["ERR_UNKNOWN_ARCHITECTURE", /"mamba".*one of llama/, {}, "mamba"],
    ["ERR_UNSUPPORTED", /rope\.scaling\.type.*yarn/, { "rope.scaling.type": text("yarn") }],
    ["ERR_UNSUPPORTED", /mixture of experts/, { expert_count: count(8) }],
    ["ERR_UNSUPPORTED", /capped/, { attn_logit_softcapping: real(50) }, "gemma3"],
    ["ERR_UNSUPPORTED", /values of another size/, { "attention.value_length": count(8) }],
    ["ERR_UNSUPPORTED", /for each layer/, { "attention.head_count_kv": { type: "array", of: "u32", value: [1, 2] } }],
    ["ERR_MISSING", /block_count/, { block_count: undefined }],
    ["ERR_LIMIT", /block_count/, { block_count: count(4e9) }],
    ["ERR_FORMAT", /embedding_length/, { embedding_length: count(0) }],
    ["ERR_FORMAT", /embedding_length/, { embedding_length: text("32") }],
    ["ERR_SHAPE", /key-value heads/, { "attention.head_count_kv": count(3) }],
    ["ERR_FORMAT", /rms_epsilon/, { "attention.layer_norm_rms_epsilon": real(Number.NaN) }],
    ["ERR_FORMAT", /freq_base/, { "rope.freq_base": real(-1) }],
    ["ERR_MISSING", /blk\.1\.attn_norm/, { block_count: count(2) }],
    ["ERR_LIMIT", /dimension_count/, { "rope.dimension_count": count(64) }],
  ])("refuses with %s: %s", async (code, message, changes, architecture = "llama") => {
    await expect(open(architecture, changes)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it("refuses tensors that are missing, misshapen, or that a layer has no place for", async () => {
    const refused = (tensor: WrittenTensor): Promise<unknown> =>
      open("llama", {}, 1, [tensor]).then((m) => m.compile());
    const vector = (name: string, length: number): WrittenTensor => ({ name, type: F32, shape: [length] });
    await expect(refused(vector("blk.0.attn_sinks.weight", 2))).rejects.toMatchObject({
      code: "ERR_UNSUPPORTED",
      message: expect.stringMatching(/attn_sinks.*no place/),
    });
    await expect(refused(vector("blk.0.ffn_gate.bias", 64))).rejects.toMatchObject({
      code: "ERR_MISSING",
      message: expect.stringMatching(/ffn_up\.bias/),
    });
    await expect(refused(vector("blk.0.attn_norm.weight", 31))).rejects.toMatchObject({ code: "ERR_SHAPE" });
    const matrix = { name: "blk.0.ffn_up.weight", type: Q4_0, shape: [32, 63] };
    await expect(refused(matrix)).rejects.toMatchObject({ code: "ERR_SHAPE", place: "blk.0.ffn_up.weight" });
    const untied = { name: "output.weight", type: Q4_0, shape: [32, 47] };
    await expect(refused(untied)).rejects.toMatchObject({ code: "ERR_SHAPE", place: "output.weight" });
    const rope = { name: "rope_freqs.weight", type: F32, shape: [8] };
    await expect(refused(rope)).rejects.toMatchObject({ code: "ERR_FORMAT", place: "rope_freqs.weight" });
  });

  it("opens and compiles, or throws a typed error, whatever is changed in the file", async () => {
    const random = seededRandom(5);
    const path = new URL("../../test/golden/gemma3-q4_0.gguf", import.meta.url);
    const bytes = await readFile(path);
    // Metadata, vocabulary and tensor table.
    const head = new Uint8Array(bytes.subarray(0, 16_384));
    const rest = new Uint8Array(bytes.subarray(16_384));
    let opened = 0;
    for (let i = 0; i < 400; i++) {
      const changed = mutate(head, random);
      const whole = new Uint8Array(changed.length + rest.length);
      whole.set(changed);
      whole.set(rest, changed.length);
      try {
        (await openModel(await openGguf(memorySource(whole, "fuzz")))).compile();
        opened++;
      } catch (error) {
        if (!(error instanceof HalfbyteError)) throw error;
      }
    }
    expect(opened).toBeGreaterThan(0);
  });
});
