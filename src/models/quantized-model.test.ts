import { describe, expect, it } from "vitest";
import { mutate, seededRandom } from "../../test/mutate.ts";
import { type Encode, filesOf, openFiles, quantizedLlama, type WrittenFolder } from "../../test/quantized-folder.ts";
import { f32ToF16 } from "../arithmetic/half.ts";
import { HalfbyteError } from "../errors.ts";
import { encodeAwq } from "../formats/encodings/awq.ts";
import { encodeCompressed, encodeIntQuantized } from "../formats/encodings/compressed-tensors.ts";
import { encodeCpuInt4 } from "../formats/encodings/cpu-int4.ts";
import { encodeGptq } from "../formats/encodings/gptq.ts";
import { newTensor, type Tensor } from "../formats/encodings/tensors.ts";
import type { QuantizedMatrix } from "../weights/quantized-matrix.ts";
import { type OpenModel, openModel } from "./open-model.ts";

const Q = "model.layers.0.self_attn.q_proj";

const cpuInt4 = { quant_method: "cpu_int4", group_size: 32, ignore: ["lm_head"], quantize_embedding: false };
const gptq = { quant_method: "gptq", bits: 4, group_size: 32, sym: true, desc_act: false };
const awq = { quant_method: "awq", bits: 4, group_size: 32, zero_point: true, version: "GEMM" };
const weights = { num_bits: 4, type: "int", symmetric: true, strategy: "group", group_size: 32 };
const compressed = {
  quant_method: "compressed-tensors",
  format: "pack-quantized",
  ignore: ["lm_head"],
  config_groups: { group_0: { targets: ["Linear"], weights } },
  sparsity_config: {},
  transform_config: {},
};
const eightBit = {
  ...compressed,
  format: "int-quantized",
  config_groups: {
    group_0: {
      targets: ["Linear"],
      weights: { ...weights, num_bits: 8 },
      input_activations: { num_bits: 8, dynamic: true },
    },
  },
};

const widened = (matrix: QuantizedMatrix): QuantizedMatrix => ({
  ...matrix,
  bits: 8,
  codes: matrix.codes.map((code) => code * 16),
  zero: 128,
});
const encoders: Record<string, [config: object, encode: Encode]> = {
  cpu_int4: [cpuInt4, (m) => encodeCpuInt4(m)],
  gptq: [gptq, (m) => encodeGptq({ matrix: m }, "v1") as Record<string, Tensor>],
  awq: [awq, (m) => encodeAwq(m)],
  "pack-quantized": [compressed, (m) => encodeCompressed({ matrix: m }) as Record<string, Tensor>],
  "int-quantized": [eightBit, (m) => encodeIntQuantized(widened(m)) as Record<string, Tensor>],
};

function folder(encoding: string, changes: object = {}): WrittenFolder {
  const [config, encode] = encoders[encoding]!;
  return quantizedLlama({ ...config, ...changes }, encode);
}

async function open(written: WrittenFolder): Promise<OpenModel> {
  const model = await openModel(await openFiles(filesOf(written)));
  model.compile();
  return model;
}

/** Changes the header of a tensor, and its bytes to zeros of that size. */
function reshape(written: WrittenFolder, name: string, shape: number[], dtype?: Tensor["dtype"]): void {
  const tensor = written.tensors.get(name)!;
  const before = tensor.shape.reduce((product, size) => product * size, 1);
  const after = shape.reduce((product, size) => product * size, 1);
  const bytes = new Uint8Array((tensor.bytes.byteLength / before) * after);
  written.tensors.set(name, { dtype: dtype ?? tensor.dtype, shape, bytes });
}

describe.each(Object.keys(encoders))("a folder quantised as %s", (encoding) => {
  it("opens without a remark, all matrices quantised and none left over", async () => {
    const model = await open(folder(encoding));
    expect(model.notes).toEqual(encoding === "int-quantized" ? [expect.stringMatching(/^activations are/)] : []);
    expect(model.weights.unused).toEqual([]);
    const layout = model.weights.layouts.get(`${Q}.weight`)!;
    expect(layout).toMatchObject({
      kind: "quantized",
      N: 64,
      K: 64,
      groupSize: 32,
      bits: encoding === "int-quantized" ? 8 : 4,
    });
  });

  it("opens by its tensors alone where no configuration speaks of them, and says so", async () => {
    const written = folder(encoding);
    delete written.config.quantization_config;
    expect((await open(written)).notes).toEqual([expect.stringMatching(/^no configuration says/)]);
  });

  it("trusts the tensors' group size over the configuration's, and says so", async () => {
    const written = folder(encoding);
    const config = JSON.stringify(written.config).replace('"group_size":32', '"group_size":16');
    const { notes } = await open({ ...written, config: JSON.parse(config) });
    expect(notes.at(-1)).toMatch(/^groups of 32, not 16 as the configuration has it: model.layers.0.* and 4 more$/);
  });

  it("opens, or throws a typed error, whatever is changed in the file", async () => {
    const random = seededRandom(5);
    const files = filesOf(folder(encoding));
    const bytes = files.get("model.safetensors")!;
    const head = bytes.slice(0, 8 + Number(new DataView(bytes.buffer).getBigUint64(0, true)));
    let opened = 0;
    for (let i = 0; i < 240; i++) {
      const damaged = new Map(files);
      if (i % 3 === 0) damaged.set("config.json", mutate(files.get("config.json")!, random));
      else if (i % 3 === 1) {
        const header = mutate(head, random);
        damaged.set("model.safetensors", new Uint8Array([...header, ...bytes.subarray(head.length)]));
      } else {
        const changed = bytes.slice();
        for (let n = 0; n < 30; n++) {
          const at = head.length + Math.floor(random() * (bytes.length - head.length));
          changed[at] = Math.floor(random() * 256);
        }
        damaged.set("model.safetensors", changed);
      }
      try {
        const model = await openModel(await openFiles(damaged));
        model.compile();
        for (const name of model.weights.layouts.keys()) await model.weights.matrix(name).readRows(0, 16);
        opened++;
      } catch (error) {
        if (!(error instanceof HalfbyteError)) throw error;
      }
    }
    expect(opened).toBeGreaterThan(0);
  });
});

type Damage = (written: WrittenFolder) => void;

const without =
  (...ends: string[]): Damage =>
  ({ tensors }) => {
    for (const end of ends) tensors.delete(`${Q}.${end}`);
  };
const shaped =
  (end: string, shape: number[], dtype?: Tensor["dtype"]): Damage =>
  (written) =>
    reshape(written, `${Q}.${end}`, shape, dtype);
const put =
  (end: string, tensor: Tensor): Damage =>
  ({ tensors }) =>
    tensors.set(`${Q}.${end}`, tensor);
const configured =
  (changes: object): Damage =>
  ({ config }) =>
    Object.assign(config.quantization_config as object, changes);

const index = (group: (k: number) => number): Tensor =>
  newTensor(
    "I32",
    [64],
    Int32Array.from({ length: 64 }, (_, k) => group(k)),
  );
const group = (weights: object): object => ({ config_groups: { group_0: { targets: ["Linear"], weights } } });

const bad: [encoding: string, title: string, code: string, message: RegExp, damage: Damage][] = [
  // Wrong shapes, odd K.
  [
    "cpu_int4",
    "scales of other outputs",
    "ERR_SHAPE",
    /q_proj.weight_scale.*\[64,any\].*\[63,2\]/,
    shaped("weight_scale", [63, 2]),
  ],
  ["cpu_int4", "codes of three dimensions", "ERR_SHAPE", /q_proj.weight_packed/, shaped("weight_packed", [64, 8, 4])],
  [
    "cpu_int4",
    "rows too short for the architecture",
    "ERR_SHAPE",
    /q_proj.weight/,
    (w) => {
      reshape(w, `${Q}.weight_packed`, [64, 31]);
      for (const end of ["scale", "zero"]) reshape(w, `${Q}.weight_${end}`, [64, 1]);
    },
  ],
  ["gptq", "codes of other outputs", "ERR_SHAPE", /q_proj.qweight.*\[any,64\].*\[8,72\]/, shaped("qweight", [8, 72])],
  ["gptq", "zeros of other groups", "ERR_SHAPE", /q_proj.qzeros.*\[2,8\].*\[3,8\]/, shaped("qzeros", [3, 8])],
  ["gptq", "an index of other inputs", "ERR_SHAPE", /q_proj.g_idx/, shaped("g_idx", [63])],
  ["awq", "zeros of other groups", "ERR_SHAPE", /q_proj.qzeros/, shaped("qzeros", [1, 8])],
  [
    "pack-quantized",
    "a row that fits no width",
    "ERR_SHAPE",
    /64 codes of 4 or 8 bits/,
    shaped("weight_packed", [64, 7]),
  ],
  [
    "pack-quantized",
    "an odd K for even words",
    "ERR_SHAPE",
    /65 codes of 4 or 8 bits/,
    put("weight_shape", newTensor("I64", [2], BigInt64Array.of(64n, 65n))),
  ],
  [
    "pack-quantized",
    "a shape below nothing",
    "ERR_FORMAT",
    /not a shape/,
    put("weight_shape", newTensor("I64", [2], BigInt64Array.of(64n, -1n))),
  ],
  [
    "pack-quantized",
    "a shape past all numbers",
    "ERR_FORMAT",
    /not a shape/,
    put("weight_shape", newTensor("I64", [2], BigInt64Array.of(64n, 2n ** 60n))),
  ],
  ["int-quantized", "scales of other outputs", "ERR_SHAPE", /q_proj.weight_scale/, shaped("weight_scale", [1, 2])],
  // Tensors that are absent or of other types.
  ["cpu_int4", "no scales", "ERR_MISSING", /q_proj.weight_scale/, without("weight_scale")],
  ["cpu_int4", "no zeros", "ERR_MISSING", /q_proj.weight_zero/, without("weight_zero")],
  ["cpu_int4", "no codes", "ERR_MISSING", /q_proj.weight/, without("weight_packed")],
  ["gptq", "no scales", "ERR_MISSING", /q_proj.scales/, without("scales")],
  [
    "gptq",
    "no zeros, and not symmetric",
    "ERR_MISSING",
    /q_proj.qzeros/,
    (w) => {
      without("qzeros")(w);
      configured({ sym: false })(w);
    },
  ],
  ["awq", "no zeros", "ERR_MISSING", /q_proj.qzeros/, without("qzeros")],
  ["awq", "no scales", "ERR_MISSING", /q_proj.scales/, without("scales")],
  ["pack-quantized", "no scales", "ERR_MISSING", /q_proj.weight_scale/, without("weight_scale")],
  ["pack-quantized", "no shape", "ERR_MISSING", /q_proj.weight_shape/, without("weight_shape")],
  ["int-quantized", "no scales", "ERR_MISSING", /q_proj.weight_scale/, without("weight_scale")],
  [
    "cpu_int4",
    "scales of integers",
    "ERR_UNSUPPORTED",
    /q_proj.weight_scale.*I32/,
    put("weight_scale", newTensor("I32", [64, 2], new Int32Array(128))),
  ],
  [
    "pack-quantized",
    "4-bit floats",
    "ERR_UNSUPPORTED",
    /4-bit floats/,
    put("weight_scale", newTensor("F8_E4M3", [64, 2], new Uint8Array(128))),
  ],
  // Groups.
  [
    "cpu_int4",
    "groups that do not divide K",
    "ERR_SHAPE",
    /groups do not divide.*3 groups of 64/,
    (w) => {
      for (const end of ["scale", "zero"]) reshape(w, `${Q}.weight_${end}`, [64, 3]);
    },
  ],
  ["cpu_int4", "declared groups that do not divide K", "ERR_SHAPE", /groups of 48/, configured({ group_size: 48 })],
  [
    "cpu_int4",
    "groups too small to run",
    "ERR_UNSUPPORTED",
    /group size 8/,
    (w) => {
      for (const end of ["scale", "zero"]) reshape(w, `${Q}.weight_${end}`, [64, 8]);
    },
  ],
  [
    "cpu_int4",
    "scales and zeros of different groups",
    "ERR_SHAPE",
    /weight_zero.*\[64,2\].*\[64,1\]/,
    shaped("weight_zero", [64, 1]),
  ],
  [
    "gptq",
    "no outputs, and more groups than there is memory",
    "ERR_SHAPE",
    /not a matrix.*\[0, 8192\]/,
    (w) => {
      for (const [end, outer] of [
        ["qweight", 1024],
        ["scales", 2 ** 40],
        ["qzeros", 2 ** 40],
      ] as const)
        reshape(w, `${Q}.${end}`, [outer, 0]);
      w.tensors.delete(`${Q}.g_idx`);
    },
  ],
  [
    "gptq",
    "no groups",
    "ERR_SHAPE",
    /groups do not divide/,
    (w) => {
      reshape(w, `${Q}.scales`, [0, 64]);
      reshape(w, `${Q}.qzeros`, [0, 8]);
    },
  ],
  [
    "gptq",
    "a group index out of range",
    "ERR_FORMAT",
    /g_idx.*0 to 1.*2 for input 40/,
    put(
      "g_idx",
      index((k) => (k === 40 ? 2 : k >> 5)),
    ),
  ],
  [
    "gptq",
    "a group index below range",
    "ERR_FORMAT",
    /g_idx.*-1 for input 3/,
    put(
      "g_idx",
      index((k) => (k === 3 ? -1 : k >> 5)),
    ),
  ],
  [
    "gptq",
    "mixed groups",
    "ERR_UNSUPPORTED",
    /different sizes.*33 in group 0/,
    put(
      "g_idx",
      index((k) => Number(k > 32)),
    ),
  ],
  [
    "pack-quantized",
    "a group index out of range",
    "ERR_FORMAT",
    /weight_g_idx.*0 to 1.*7 for input 9/,
    put(
      "weight_g_idx",
      index((k) => (k === 9 ? 7 : k >> 5)),
    ),
  ],
  [
    "pack-quantized",
    "mixed groups",
    "ERR_UNSUPPORTED",
    /weight_g_idx.*different sizes/,
    put(
      "weight_g_idx",
      index((k) => Number(k > 40)),
    ),
  ],
  [
    "gptq",
    "groups that do not divide K",
    "ERR_SHAPE",
    /groups do not divide.*3 groups of 64/,
    (w) => {
      reshape(w, `${Q}.scales`, [3, 64]);
      reshape(w, `${Q}.qzeros`, [3, 8]);
    },
  ],
  [
    "awq",
    "groups that do not divide K",
    "ERR_SHAPE",
    /groups do not divide.*3 groups of 64/,
    (w) => {
      reshape(w, `${Q}.scales`, [3, 64]);
      reshape(w, `${Q}.qzeros`, [3, 8]);
    },
  ],
  ["pack-quantized", "groups that do not divide K", "ERR_SHAPE", /groups do not/, shaped("weight_scale", [64, 3])],
  ["int-quantized", "groups that do not divide K", "ERR_SHAPE", /groups do not/, shaped("weight_scale", [64, 3])],
  [
    "pack-quantized",
    "zero points of other groups",
    "ERR_SHAPE",
    /weight_zero_point.*\[8,2\].*\[8,3\]/,
    put("weight_zero_point", newTensor("I32", [8, 3], new Int32Array(24))),
  ],
  [
    "int-quantized",
    "zero points of other outputs",
    "ERR_SHAPE",
    /weight_zero_point.*\[64,2\].*\[32,2\]/,
    put("weight_zero_point", newTensor("I8", [32, 2], new Uint8Array(64))),
  ],
  // Widths, methods and variants.
  ["gptq", "3-bit codes", "ERR_UNSUPPORTED", /"bits".*4 or 8 bits.*3/, configured({ bits: 3 })],
  ["gptq", "2-bit tensors", "ERR_UNSUPPORTED", /q_proj.qweight.*4 or 8 bits.*got 2/, shaped("qzeros", [2, 4])],
  ["awq", "8-bit codes", "ERR_UNSUPPORTED", /"bits"/, configured({ bits: 8 })],
  ["awq", "another layout", "ERR_UNSUPPORTED", /"version"/, configured({ version: "gemv" })],
  ["awq", "no zero points", "ERR_UNSUPPORTED", /"zero_point"/, configured({ zero_point: false })],
  ["gptq", "Marlin's layout", "ERR_UNSUPPORTED", /"checkpoint_format"/, configured({ checkpoint_format: "marlin" })],
  ["pack-quantized", "2-bit codes", "ERR_UNSUPPORTED", /"num_bits"/, configured(group({ ...weights, num_bits: 2 }))],
  ["pack-quantized", "floats", "ERR_UNSUPPORTED", /"type"/, configured(group({ ...weights, type: "float" }))],
  ["pack-quantized", "blocks", "ERR_UNSUPPORTED", /"strategy"/, configured(group({ ...weights, strategy: "block" }))],
  ["pack-quantized", "another format", "ERR_UNSUPPORTED", /"format".*marlin-24/, configured({ format: "marlin-24" })],
  [
    "pack-quantized",
    "rotated weights",
    "ERR_UNSUPPORTED",
    /"transform_config"/,
    configured({ transform_config: { config_groups: { u: {} } } }),
  ],
  [
    "pack-quantized",
    "sparse weights",
    "ERR_UNSUPPORTED",
    /"sparsity_config"/,
    configured({ sparsity_config: { format: "sparse-24-bitmask" } }),
  ],
  ["pack-quantized", "a list where an object is", "ERR_FORMAT", /"config_groups"/, configured({ config_groups: [1] })],
  ["pack-quantized", "names that are no texts", "ERR_FORMAT", /"ignore"/, configured({ ignore: [1] })],
  ["cpu_int4", "an unknown method", "ERR_UNSUPPORTED", /"hqq"/, configured({ quant_method: "hqq" })],
  ["cpu_int4", "no method", "ERR_MISSING", /"quant_method"/, configured({ quant_method: null })],
  // Contradictions.
  ["cpu_int4", "tensors of another method", "ERR_FORMAT", /q_proj.*gptq, as.*cpu_int4, by names/, configured(gptq)],
  ["pack-quantized", "tensors of another method", "ERR_FORMAT", /compressed-tensors, by names/, configured(cpuInt4)],
  ["awq", "tensors of GPTQ's brother", "ERR_FORMAT", /gptq, as.*awq, by names/, configured(gptq)],
  [
    "cpu_int4",
    "a matrix that is there twice",
    "ERR_FORMAT",
    /twice/,
    put("weight", newTensor("BF16", [64, 64], new Uint16Array(4096))),
  ],
  [
    "gptq",
    "zeros of both versions",
    "ERR_FORMAT",
    /contradict each other/,
    put("qzeros", newTensor("I32", [2, 8], new Uint32Array(16).fill(0x88888888))),
  ],
];

describe("a bad checkpoint", () => {
  it.each(bad)("%s with %s: %s", async (encoding, _, code, message, damage) => {
    const written = folder(encoding);
    damage(written);
    await expect(open(written)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it("of GPTQ whose version nothing tells is refused, and opens once it is declared", async () => {
    const written = folder("gptq");
    for (const [name, { dtype, shape, bytes }] of written.tensors) {
      // Any zeros but symmetric ones, and weights centred half way between the two readings.
      if (name.endsWith("qzeros"))
        written.tensors.set(name, { dtype, shape, bytes: bytes.map((_, i) => (i % 2 ? 0x66 : 0x77)) });
      if (name.endsWith("qweight")) written.tensors.set(name, { dtype, shape, bytes: bytes.map(() => 0x77) });
    }
    await expect(open(written)).rejects.toMatchObject({
      code: "ERR_FORMAT",
      message: expect.stringMatching(/version of the format cannot be told.*checkpoint_format/),
    });
    configured({ checkpoint_format: "gptq_v2" })(written);
    expect((await open(written)).notes).toEqual([expect.stringMatching(/^has zero points, though.*symmetric/)]);
  });
});

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
