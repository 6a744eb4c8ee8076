import { describe, expect, it } from "vitest";
import { type Encode, filesOf, openFiles, quantizedLlama, type WrittenFolder } from "../../test/quantized-folder.ts";
import { encodeAwq } from "../formats/encodings/awq.ts";
import { encodeCompressed } from "../formats/encodings/compressed-tensors.ts";
import { encodeCpuInt4 } from "../formats/encodings/cpu-int4.ts";
import { encodeGptq } from "../formats/encodings/gptq.ts";
import { newTensor, type Tensor } from "../formats/encodings/tensors.ts";
import type { QuantizedMatrix } from "../weights/quantized-matrix.ts";
import { matrixRowToFloat } from "../weights/unpack.ts";
import { type OpenModel, openModel } from "./open-model.ts";

const LAYER = "model.layers.0";
const PARTS = [`${LAYER}.self_attn.q_proj`, `${LAYER}.self_attn.k_proj`, `${LAYER}.self_attn.v_proj`];
const QKV = `${LAYER}.self_attn.qkv_proj`;
const GATE_UP = `${LAYER}.mlp.gate_up_proj`;

const floats = (matrix: QuantizedMatrix): Record<string, Tensor> => {
  const values = new Float32Array(matrix.N * matrix.K);
  for (let n = 0; n < matrix.N; n++) matrixRowToFloat(matrix, n, values.subarray(n * matrix.K, (n + 1) * matrix.K));
  return { weight: newTensor("F32", [matrix.N, matrix.K], values) };
};
const encoders: [name: string, encode: (matrix: QuantizedMatrix) => object][] = [
  ["floats", floats],
  ["cpu_int4", (m) => encodeCpuInt4(m)],
  ["gptq", (m) => encodeGptq({ matrix: m }, "v1")],
  ["awq", (m) => encodeAwq(m)],
  ["pack-quantized", (m) => encodeCompressed({ matrix: m })],
];

/** Matrices one above the other. */
function stacked(matrices: readonly QuantizedMatrix[]): QuantizedMatrix {
  const [first] = matrices;
  return {
    ...first!,
    N: matrices.reduce((sum, { N }) => sum + N, 0),
    codes: Uint8Array.from(matrices.flatMap(({ codes }) => [...codes])),
    scale: {
      kind: "bf16",
      values: Uint16Array.from(matrices.flatMap(({ scale }) => ("values" in scale ? [...scale.values] : []))),
    },
  };
}

/** The same random model with its matrices apart, and with some of them in one. */
function twins(encode: (matrix: QuantizedMatrix) => object): { apart: WrittenFolder; fused: WrittenFolder } {
  const matrices = new Map<string, QuantizedMatrix>();
  const remember: Encode = (matrix, name) => {
    matrices.set(name, matrix);
    return encode(matrix) as Record<string, Tensor>;
  };
  const apart = quantizedLlama(undefined, remember);
  const fused: WrittenFolder = { ...apart, tensors: new Map(apart.tensors) };
  const fuse = (into: string, names: readonly string[]): void => {
    for (const name of fused.tensors.keys())
      if (names.some((each) => name.startsWith(`${each}.`))) fused.tensors.delete(name);
    for (const [end, tensor] of Object.entries(encode(stacked(names.map((name) => matrices.get(name)!)))))
      fused.tensors.set(`${into}.${end}`, tensor as Tensor);
  };
  fuse(QKV, PARTS);
  fuse(GATE_UP, [`${LAYER}.mlp.gate_proj`, `${LAYER}.mlp.up_proj`]);
  return { apart, fused };
}

const open = async (written: WrittenFolder): Promise<OpenModel> => openModel(await openFiles(filesOf(written)));

describe.each(encoders)("q, k and v in one tensor, and gate and up, as %s", (_, encode) => {
  it("are the matrices they are made of, to the bit, and nothing is left over", async () => {
    const { apart, fused } = twins(encode);
    const [one, other] = [await open(apart), await open(fused)];
    expect(other.weights.unused).toEqual([]);
    expect([...other.weights.layouts]).toEqual([...one.weights.layouts]);
    for (const [name, { N }] of one.weights.layouts) {
      const source = other.weights.matrix(name);
      expect(source.name).toBe(name);
      expect(await source.readRows(0, N), name).toEqual(await one.weights.matrix(name).readRows(0, N));
      expect(await source.readRows(5, 3)).toEqual(await one.weights.matrix(name).readRows(5, 3));
    }
  });
});

describe("fused tensors", () => {
  it("bring their biases in one", async () => {
    const { fused } = twins(floats);
    fused.config.attention_bias = true;
    const values = Float32Array.from({ length: 128 }, (_, i) => i + 1);
    fused.tensors.set(`${QKV}.bias`, newTensor("F32", [128], values));
    fused.tensors.set(`${LAYER}.self_attn.o_proj.bias`, newTensor("F32", [64], new Float32Array(64)));
    const { weights } = await open(fused);
    expect([...(await weights.vector(`${PARTS[1]}.bias`))]).toEqual([...values.subarray(64, 96)]);
    expect([...(await weights.vector(`${PARTS[2]}.bias`))]).toEqual([...values.subarray(96)]);
  });

  it("of other rows than their parts have are refused", async () => {
    const { fused } = twins(floats);
    fused.tensors.set(`${QKV}.weight`, newTensor("F32", [96, 64], new Float32Array(96 * 64)));
    await expect(open(fused)).rejects.toMatchObject({
      code: "ERR_SHAPE",
      message: expect.stringMatching(/qkv_proj.weight: .*rows of its parts; expected 128, got 96/),
    });
  });

  it("beside the parts that they are made of are refused: nothing tells which is meant", async () => {
    const { apart, fused } = twins(floats);
    const both = { ...apart, tensors: new Map([...fused.tensors, ...apart.tensors]) };
    await expect(open(both)).rejects.toMatchObject({
      code: "ERR_UNSUPPORTED",
      place: expect.stringMatching(/qkv_proj.weight/),
    });
  });

  it("that lack a part beside them are not the model's", async () => {
    const { apart } = twins(floats);
    apart.tensors.delete(`${PARTS[0]}.weight`);
    await expect(open(apart)).rejects.toMatchObject({ code: "ERR_MISSING", place: expect.stringMatching(/q_proj/) });
  });
});
