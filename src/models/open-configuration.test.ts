import { describe, expect, it } from "vitest";
import { encoders, folder, index, open, put, Q, reshape, weights, without } from "../../test/damaged-folder.ts";
import { quantizedLlama, type WrittenFolder } from "../../test/quantized-folder.ts";
import { f32ToF16 } from "../arithmetic/half.ts";
import { newTensor } from "../formats/encodings/tensors.ts";

describe("what a configuration may leave open", () => {
  it("reads what older writers put beside config.json", async () => {
    const written = folder("gptq");
    delete written.config.quantization_config;
    Object.assign(written.json, { "quantize_config.json": { bits: 4, group_size: 32, sym: true, desc_act: false } });
    expect((await open(written)).notes).toEqual([]);
  });

  it("takes GPTQ without zeros as symmetric, and an index of zeros as none, and says so", async () => {
    const written = folder("gptq");
    without("qzeros")(written);
    put(
      "g_idx",
      index(() => 0),
    )(written);
    expect((await open(written)).notes).toEqual([
      expect.stringMatching(/^an index of groups that is all 0.*q_proj$/),
      expect.stringMatching(/^has no zero points.*q_proj$/),
    ]);
  });

  it("takes the order of inputs that an index of groups makes", async () => {
    const orders = async (encoding: string, end: string): Promise<unknown> => {
      const written = folder(encoding);
      put(
        end,
        index((k) => k & 1),
      )(written);
      const { weights } = await open(written);
      const { inputOrder } = weights.matrix(`${Q}.weight`);
      expect(weights.matrix("model.layers.0.self_attn.k_proj.weight").inputOrder).toBeUndefined();
      return [...inputOrder!];
    };
    const evenThenOdd = Array.from({ length: 64 }, (_, j) => (j < 32 ? 2 * j : 2 * j - 63));
    expect(await orders("gptq", "g_idx")).toEqual(evenThenOdd);
    expect(await orders("pack-quantized", "weight_g_idx")).toEqual(evenThenOdd);
  });

  it("leaves out biases of zeros that AutoGPTQ writes, and keeps those of a model that has them", async () => {
    const written = folder("gptq");
    written.tensors.set(`${Q}.bias`, newTensor("F16", [64], new Uint16Array(64)));
    expect((await open(written)).weights.unused).toEqual([]);
    written.tensors.set(`${Q}.bias`, newTensor("F16", [64], new Uint16Array(64).fill(f32ToF16(1))));
    await expect(open(written)).rejects.toMatchObject({
      code: "ERR_UNSUPPORTED",
      place: expect.stringMatching(/q_proj.bias/),
    });
  });

  it("says which matrices are quantised, or not, against the configuration", async () => {
    const ignoring = folder("cpu_int4", { ignore: ["q_proj", "layers.0.mlp.up_proj"] });
    ignoring.tensors.set("model.layers.0.self_attn.k_proj.weight", newTensor("BF16", [32, 64], new Uint16Array(2048)));
    for (const end of ["packed", "scale", "zero"])
      ignoring.tensors.delete(`model.layers.0.self_attn.k_proj.weight_${end}`);
    expect((await open(ignoring)).notes).toEqual([
      "floats, though the configuration has it quantised: model.layers.0.self_attn.k_proj",
      "quantised, though the configuration has it left alone: model.layers.0.self_attn.q_proj, model.layers.0.mlp.up_proj",
    ]);
  });

  it("takes expressions and classes of compressed-tensors, and names those it does not know", async () => {
    const groups = {
      attention: { targets: ["re:.*self_attn\\..*_proj$"], weights },
      rest: { targets: ["Linear"], weights: { ...weights, group_size: 16 } },
    };
    const { notes } = await open(
      folder("pack-quantized", { config_groups: groups, ignore: ["re:.*up_proj", "re:(?!x)"] }),
    );
    expect(notes).toEqual([
      'pattern not understood, only the tensors tell which matrices it means: "re:(?!x)"',
      "quantised, though the configuration has it left alone: model.layers.0.mlp.up_proj",
      "groups of 32, not 16 as the configuration has it: model.layers.0.mlp.gate_proj, model.layers.0.mlp.down_proj",
    ]);
  });

  it("takes GPTQ's rules for some matrices", async () => {
    const dynamic = { "-:.*k_proj": {}, "+:.*v_proj": { group_size: 16 }, ".*up_proj": { bits: 8 } };
    expect((await open(folder("gptq", { dynamic }))).notes).toEqual([
      "quantised, though the configuration has it left alone: model.layers.0.self_attn.k_proj",
      "groups of 32, not 16 as the configuration has it: model.layers.0.self_attn.v_proj",
      "4-bit codes, not 8 as the configuration has it: model.layers.0.mlp.up_proj",
    ]);
  });

  it("reports the fields of cpu_int4 that have nothing to steer", async () => {
    const dials = { prefill_dequant: true, dequant_threshold: 2, direct_dequant: true, use_custom_op: false };
    const [note] = (await open(folder("cpu_int4", dials))).notes;
    expect(note).toMatch(/^nothing to steer here.*"prefill_dequant".* and 1 more$/);
  });
});

describe("a quantised output matrix", () => {
  const [config, encode] = encoders.cpu_int4!;
  const add = (written: WrittenFolder, name: string): void => {
    for (const end of ["packed", "scale", "zero"])
      written.tensors.set(
        `${name}.weight_${end}`,
        quantizedLlama(config, encode).tensors.get(`model.layers.0.mlp.up_proj.weight_${end}`)!,
      );
  };

  it("is one memory with the embedding where they are tied", async () => {
    const written = folder("cpu_int4", { quantize_embedding: true });
    written.tensors.delete("model.embed_tokens.weight");
    add(written, "model.embed_tokens");
    written.config.vocab_size = 96;
    const model = await open(written);
    expect(model.notes).toEqual([]);
    const named = model.compile().matrices.filter(({ layout }) => layout.N === 96 && layout.K === 64);
    expect(named.map(({ name }) => name).filter((name) => name.includes("embed"))).toEqual([
      "model.embed_tokens.weight",
    ]);
  });

  it("is read where they are not, and noted where it is not used", async () => {
    const written = folder("cpu_int4", { ignore: [] });
    add(written, "lm_head");
    written.config.vocab_size = 96;
    reshape(written, "model.embed_tokens.weight", [96, 64]);
    expect((await open(written)).notes).toEqual([expect.stringMatching(/^not used: .*: lm_head.weight$/)]);
    written.config.tie_word_embeddings = false;
    const model = await open(written);
    expect(model.weights.layouts.get("lm_head.weight")).toMatchObject({ kind: "quantized", N: 96, bits: 4 });
    expect(model.notes).toEqual([]);
  });
});
