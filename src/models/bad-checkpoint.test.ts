import { describe, expect, it } from "vitest";
import {
  configured,
  type Damage,
  folder,
  gptq,
  group,
  index,
  open,
  put,
  Q,
  reshape,
  shaped,
  weights,
  without,
} from "../../test/damaged-folder.ts";
import { newTensor } from "../formats/encodings/tensors.ts";

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
  [
    "pack-quantized",
    "tensors of another method",
    "ERR_FORMAT",
    /compressed-tensors, by names/,
    configured({ quant_method: "cpu_int4" }),
  ],
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
