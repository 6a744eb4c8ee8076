import { encodeAwq } from "../src/formats/encodings/awq.ts";
import { encodeCompressed, encodeIntQuantized } from "../src/formats/encodings/compressed-tensors.ts";
import { encodeCpuInt4 } from "../src/formats/encodings/cpu-int4.ts";
import { encodeGptq } from "../src/formats/encodings/gptq.ts";
import { newTensor, type Tensor } from "../src/formats/encodings/tensors.ts";
import { type OpenModel, openModel } from "../src/models/open-model.ts";
import type { QuantizedMatrix } from "../src/weights/quantized-matrix.ts";
import { type Encode, filesOf, openFiles, quantizedLlama, type WrittenFolder } from "./quantized-folder.ts";

export const Q = "model.layers.0.self_attn.q_proj";

const cpuInt4 = { quant_method: "cpu_int4", group_size: 32, ignore: ["lm_head"], quantize_embedding: false };
export const gptq = { quant_method: "gptq", bits: 4, group_size: 32, sym: true, desc_act: false };
const awq = { quant_method: "awq", bits: 4, group_size: 32, zero_point: true, version: "GEMM" };
export const weights = { num_bits: 4, type: "int", symmetric: true, strategy: "group", group_size: 32 };
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
export const encoders: Record<string, [config: object, encode: Encode]> = {
  cpu_int4: [cpuInt4, (m) => encodeCpuInt4(m)],
  gptq: [gptq, (m) => encodeGptq({ matrix: m }, "v1") as Record<string, Tensor>],
  awq: [awq, (m) => encodeAwq(m)],
  "pack-quantized": [compressed, (m) => encodeCompressed({ matrix: m }) as Record<string, Tensor>],
  "int-quantized": [eightBit, (m) => encodeIntQuantized(widened(m)) as Record<string, Tensor>],
};

export function folder(encoding: string, changes: object = {}): WrittenFolder {
  const [config, encode] = encoders[encoding]!;
  return quantizedLlama({ ...config, ...changes }, encode);
}

export async function open(written: WrittenFolder): Promise<OpenModel> {
  const model = await openModel(await openFiles(filesOf(written)));
  model.compile();
  return model;
}

/** Changes the header of a tensor, and its bytes to zeros of that size. */
export function reshape(written: WrittenFolder, name: string, shape: number[], dtype?: Tensor["dtype"]): void {
  const tensor = written.tensors.get(name)!;
  const before = tensor.shape.reduce((product, size) => product * size, 1);
  const after = shape.reduce((product, size) => product * size, 1);
  const bytes = new Uint8Array((tensor.bytes.byteLength / before) * after);
  written.tensors.set(name, { dtype: dtype ?? tensor.dtype, shape, bytes });
}

export type Damage = (written: WrittenFolder) => void;

export const without =
  (...ends: string[]): Damage =>
  ({ tensors }) => {
    for (const end of ends) tensors.delete(`${Q}.${end}`);
  };
export const shaped =
  (end: string, shape: number[], dtype?: Tensor["dtype"]): Damage =>
  (written) =>
    reshape(written, `${Q}.${end}`, shape, dtype);
export const put =
  (end: string, tensor: Tensor): Damage =>
  ({ tensors }) =>
    tensors.set(`${Q}.${end}`, tensor);
export const configured =
  (changes: object): Damage =>
  ({ config }) =>
    Object.assign(config.quantization_config as object, changes);

/** A tensor of the group of each input. */
export const index = (group: (k: number) => number): Tensor =>
  newTensor(
    "I32",
    [64],
    Int32Array.from({ length: 64 }, (_, k) => group(k)),
  );
export const group = (weights: object): object => ({ config_groups: { group_0: { targets: ["Linear"], weights } } });
