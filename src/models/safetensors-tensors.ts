import { HalfbyteError } from "../errors.ts";
import { readBytes } from "../formats/byte-source.ts";
import { decodeFloats, floatBytes, floatMatrix } from "../formats/float-values.ts";
import type { SafetensorsTensor } from "../formats/safetensors/open-safetensors.ts";
import { tensorBytes } from "../formats/tensor-bytes.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import type { FloatType } from "../weights/quantized-matrix.ts";
import { checkRows } from "./check-rows.ts";
import { eightBitLike, quantizeToEightBits } from "./eight-bit.ts";
import type { TensorStore } from "./model-weights.ts";

/** What becomes of float weights: kept as the file has them, or quantised to 8 bits in groups of 32 as they are loaded. */
export type FloatWeights = "keep" | "q8";

export interface SafetensorsOptions {
  readonly floatWeights: FloatWeights;
  /** Norm weights stand as w where 1 + w is meant. */
  readonly normsPlusOne: boolean;
}

const FLOAT_TYPES: ReadonlyMap<string, FloatType> = new Map([
  ["F32", "f32"],
  ["F16", "f16"],
  ["BF16", "bf16"],
]);

/** The float tensors of a checkpoint in safetensors. */
export function safetensorsTensors(
  tensors: ReadonlyMap<string, SafetensorsTensor>,
  place: string,
  options: SafetensorsOptions,
): TensorStore {
  return {
    place,
    names: tensors.keys(),
    matrix(name) {
      const tensor = tensors.get(name);
      return tensor && safetensorsMatrix(tensor, options.floatWeights);
    },
    vectorLength(name) {
      const tensor = tensors.get(name);
      if (tensor && tensor.shape.length !== 1) throw wrongShape(tensor, "one dimension");
      return tensor?.shape[0];
    },
    async vector(name, role) {
      const tensor = tensors.get(name)!;
      const out = new Float32Array(tensor.shape[0]!);
      decodeFloats(floatType(tensor), await tensorBytes(tensor), out);
      if (role === "norm" && options.normsPlusOne) for (let i = 0; i < out.length; i++) out[i] = 1 + out[i]!;
      return out;
    },
  };
}

function safetensorsMatrix(tensor: SafetensorsTensor, floatWeights: FloatWeights): MatrixSource {
  const { name, source, offset } = tensor;
  if (tensor.shape.length !== 2) throw wrongShape(tensor, "two dimensions");
  const [N, K] = tensor.shape as [number, number];
  const type = floatType(tensor);
  const rowBytes = K * floatBytes(type);
  const quantize = floatWeights === "q8";
  return {
    name,
    N,
    K,
    rowBytes,
    like: quantize ? eightBitLike(K) : floatMatrix(type, new Uint8Array(0), 0, K),
    async readRows(first, count) {
      checkRows(name, N, first, count);
      const bytes = await readBytes(source, offset + first * rowBytes, count * rowBytes);
      if (!quantize) return floatMatrix(type, bytes, count, K);
      const values = new Float32Array(count * K);
      decodeFloats(type, bytes, values);
      return quantizeToEightBits(values, count, K, name);
    },
  };
}

function floatType(tensor: SafetensorsTensor): FloatType {
  const type = FLOAT_TYPES.get(tensor.dtype);
  if (type) return type;
  throw new HalfbyteError("ERR_UNSUPPORTED", "tensor of a type that is no float weight", {
    place: tensor.name,
    expected: [...FLOAT_TYPES.keys()].join(", "),
    got: tensor.dtype,
  });
}

function wrongShape(tensor: SafetensorsTensor, expected: string): HalfbyteError {
  return new HalfbyteError("ERR_SHAPE", "tensor of another shape", {
    place: tensor.name,
    expected,
    got: `[${tensor.shape}]`,
  });
}
