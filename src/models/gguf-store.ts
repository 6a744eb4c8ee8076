import type { GgufTensor } from "../formats/gguf/parse.ts";
import { ggufFloats, ggufMatrix } from "../formats/read-tensor.ts";
import { notAVector, type TensorStore } from "./model-weights.ts";

/** The tensors of a GGUF file; norm weights stand there as they are used. */
export function ggufStore(tensors: ReadonlyMap<string, GgufTensor>, place: string): TensorStore {
  return {
    place,
    names: [...tensors.keys()],
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
