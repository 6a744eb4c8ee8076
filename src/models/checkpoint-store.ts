import { HalfbyteError } from "../errors.ts";
import { safetensorsFloats, safetensorsMatrix } from "../formats/read-tensor.ts";
import type { Checkpoint } from "./checkpoint.ts";
import { inEightBits } from "./eight-bit.ts";
import { weight } from "./found-matrix.ts";
import { notAVector, type TensorStore } from "./model-weights.ts";

/** What becomes of float weights: kept as the file has them, or quantised to 8 bits in groups of 32 as they are loaded. */
export type FloatWeights = "keep" | "q8";

export interface SafetensorsOptions {
  readonly floatWeights: FloatWeights;
  /** Norm weights stand as w where 1 + w is meant. */
  readonly normsPlusOne: boolean;
}

/** A checkpoint in safetensors: float tensors, and quantised matrices as if each were a tensor. */
export function safetensorsStore(checkpoint: Checkpoint, options: SafetensorsOptions): TensorStore {
  const { place, plain, quantized, zeroBiases } = checkpoint;
  return {
    place,
    names: [...[...plain.keys()].filter((name) => !zeroBiases.has(name)), ...[...quantized.keys()].map(weight)],
    matrix(name) {
      const opened = quantized.get(name.replace(/\.weight$/, ""));
      if (opened instanceof HalfbyteError) throw opened;
      if (opened) return opened;
      const tensor = plain.get(name);
      if (!tensor) return undefined;
      const source = safetensorsMatrix(tensor);
      return options.floatWeights === "q8" ? inEightBits(source) : source;
    },
    vectorLength(name) {
      const tensor = plain.get(name);
      if (tensor && tensor.shape.length !== 1) throw notAVector(tensor);
      return tensor?.shape[0];
    },
    async vector(name, role) {
      const values = await safetensorsFloats(plain.get(name)!);
      if (role === "norm" && options.normsPlusOne) for (let i = 0; i < values.length; i++) values[i] = 1 + values[i]!;
      return values;
    },
  };
}
