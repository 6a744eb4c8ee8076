import { HalfbyteError } from "../errors.ts";
import type { GgufTensor } from "../formats/gguf/parse.ts";
import { ggufFloats, ggufMatrix, safetensorsFloats, safetensorsMatrix } from "../formats/read-tensor.ts";
import type { Checkpoint } from "./checkpoint.ts";
import { inEightBits } from "./eight-bit.ts";
import { weight } from "./found-matrix.ts";
import type { TensorStore } from "./model-weights.ts";

/** The tensors of a GGUF file; norm weights stand there as they are used. */
export function ggufStore(tensors: ReadonlyMap<string, GgufTensor>, place: string): TensorStore {
  return {
    place,
    names: tensors.keys(),
    matrix(name) {
      const tensor = tensors.get(name);
      return tensor && ggufMatrix(tensor);
    },
    vectorLength(name) {
      const tensor = tensors.get(name);
      if (tensor && tensor.N !== 1) throw notAVector(tensor);
      return tensor?.K;
    },
    vector: (name) => ggufFloats(tensors.get(name)!),
  };
}

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

function notAVector({ name, shape }: { name: string; shape: readonly number[] }): HalfbyteError {
  return new HalfbyteError("ERR_SHAPE", "not a vector", { place: name, got: `[${shape}]` });
}
