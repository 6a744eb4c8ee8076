import { describe, expect, it } from "vitest";
import { randomMatrix } from "../../test/encodings.ts";
import { type Encode, filesOf, openFiles, quantizedLlama, type WrittenFolder } from "../../test/quantized-folder.ts";
import { encodeAwq } from "../formats/encodings/awq.ts";
import { encodeCompressed, encodeIntQuantized } from "../formats/encodings/compressed-tensors.ts";
import { encodeCpuInt4 } from "../formats/encodings/cpu-int4.ts";
import { encodeGptq } from "../formats/encodings/gptq.ts";
import type { Tensor } from "../formats/encodings/tensors.ts";
import type { QuantizedMatrix } from "../weights/quantized-matrix.ts";
import { type OpenModel, openModel } from "./open-model.ts";

const FOUR = { bits: 4, scale: "bf16", scaleBits: 4, zeros: "middle" } as const;
const EIGHT = { ...FOUR, bits: 8 } as const;

const weights = { num_bits: 4, type: "int", symmetric: true, strategy: "group", group_size: 32 };

/** For each encoding, how it declares a quantised output matrix and embedding; undefined where it has no word for one. */
const ENCODINGS: Record<string, { encode: (m: QuantizedMatrix) => object; config: object; embedding?: object }> = {
  cpu_int4: {
    encode: (m) => encodeCpuInt4(m),
    config: { quant_method: "cpu_int4", group_size: 32, ignore: [] },
    embedding: { quantize_embedding: true },
  },
  gptq: {
    encode: (m) => encodeGptq({ matrix: m }, "v1"),
    config: { quant_method: "gptq", bits: 4, group_size: 32, sym: true, lm_head: true },
    embedding: {},
  },
  awq: { encode: encodeAwq, config: { quant_method: "awq", bits: 4, group_size: 32, version: "gemm" }, embedding: {} },
  "compressed-tensors": {
    encode: (m) => encodeCompressed({ matrix: m }),
    config: {
      quant_method: "compressed-tensors",
      format: "pack-quantized",
      config_groups: { group_0: { targets: ["Linear"], weights } },
    },
    embedding: { config_groups: { group_0: { targets: ["Linear", "re:.*embed_tokens$"], weights } } },
  },
};

const open = async (written: WrittenFolder): Promise<OpenModel> => openModel(await openFiles(filesOf(written)));

function put(written: WrittenFolder, name: string, tensors: object): void {
  written.tensors.delete(`${name}.weight`);
  for (const [end, tensor] of Object.entries(tensors)) written.tensors.set(`${name}.${end}`, tensor as Tensor);
}

describe.each(Object.entries(ENCODINGS))("as %s", (name, { encode, config, embedding }) => {
  const folder = (changes: object = {}): WrittenFolder =>
    quantizedLlama({ ...config, ...changes }, encode as unknown as Encode);
  const { matrix } = randomMatrix(9, 48, 64, 32, FOUR);

  it("a quantised output matrix is read, and the embedding of floats beside it", async () => {
    const written = folder();
    written.config.tie_word_embeddings = false;
    put(written, "lm_head", encode(matrix));
    const model = await open(written);
    const source = model.weights.matrix("lm_head.weight");
    expect(await source.readRows(0, 48)).toMatchObject({ codes: matrix.codes, bits: 4, groupSize: 32 });
    expect(model.weights.layouts.get("model.embed_tokens.weight")).toMatchObject({ kind: "float" });
    // AWQ's own tools quantise no output matrix: that it is there is worth a word.
    expect(model.notes).toEqual(name === "awq" ? [expect.stringMatching(/^quantised, though.*lm_head$/)] : []);
  });

  it("a quantised embedding is read, and is the output matrix where they are tied", async () => {
    const written = folder(embedding);
    put(written, "model.embed_tokens", encode(matrix));
    const model = await open(written);
    expect(model.notes).toEqual([]);
    const plan = model.compile();
    expect(plan.matrices.filter(({ layout }) => layout.N === 48)).toHaveLength(1);
    expect(await model.weights.matrix("model.embed_tokens.weight").readRows(5, 2)).toMatchObject({
      codes: matrix.codes.slice(5 * 64, 7 * 64),
    });
  });
});

describe("a compressed-tensors folder with groups of several kinds", () => {
  const wide = (m: QuantizedMatrix): QuantizedMatrix => randomMatrix(m.N + m.K, m.N, m.K, m.K, EIGHT).matrix;
  const finer = (m: QuantizedMatrix): QuantizedMatrix => randomMatrix(m.N + m.K, m.N, m.K, 16, FOUR).matrix;
  const mixed: Encode = (m, name) =>
    (/down_proj/.test(name)
      ? encodeIntQuantized(wide(m))
      : /o_proj/.test(name)
        ? encodeCompressed({ matrix: wide(m) })
        : encodeCompressed({ matrix: /self_attn/.test(name) ? finer(m) : m })) as Record<string, Tensor>;
  const group = (targets: string[], changes: object, format = "pack-quantized"): object => ({
    targets,
    format,
    weights: { ...weights, ...changes },
  });
  const groups = {
    group_0: group(["re:.*self_attn\\.[qkv]_proj$"], { group_size: 16 }),
    group_1: group(["model.layers.0.self_attn.o_proj"], { num_bits: 8, strategy: "channel", group_size: null }),
    group_2: group(["re:.*down_proj"], { num_bits: 8, strategy: "channel", group_size: null }, "int-quantized"),
    group_3: group(["Linear"], {}),
  };
  const config = { quant_method: "compressed-tensors", format: "mixed-precision", ignore: ["lm_head"] };
  const folder = (changes: object = {}): WrittenFolder =>
    quantizedLlama({ ...config, config_groups: groups, ...changes }, mixed);

  it("has each matrix in the form of its group, without a remark", async () => {
    const model = await open(folder());
    expect(model.notes).toEqual([]);
    const form = (name: string): unknown => {
      const layout = model.weights.layouts.get(`model.layers.0.${name}.weight`)!;
      return layout.kind === "quantized" && [layout.bits, layout.groupSize];
    };
    expect(form("self_attn.q_proj")).toEqual([4, 16]);
    expect(form("self_attn.o_proj")).toEqual([8, 64]);
    expect(form("mlp.down_proj")).toEqual([8, 96]);
    expect(form("mlp.up_proj")).toEqual([4, 32]);
    model.compile();
  });

  it("says which matrices are not of the group that the configuration has them in, and takes the tensors", async () => {
    const swapped = { ...groups, group_0: group(["re:.*mlp\\.up_proj$"], { group_size: 16 }) };
    const model = await open(folder({ config_groups: swapped }));
    expect(model.notes).toEqual([
      "groups of 16, not 32 as the configuration has it: model.layers.0.self_attn.q_proj, model.layers.0.self_attn.k_proj, model.layers.0.self_attn.v_proj",
      "groups of 32, not 16 as the configuration has it: model.layers.0.mlp.up_proj",
    ]);
  });

  it("is refused for a group in a format that changes what weights mean", async () => {
    const floats = { ...groups, group_2: group(["re:.*down_proj"], {}, "float-quantized") };
    await expect(open(folder({ config_groups: floats }))).rejects.toMatchObject({
      code: "ERR_UNSUPPORTED",
      message: expect.stringMatching(/"group_2".*"format".*float-quantized/),
    });
  });
});
