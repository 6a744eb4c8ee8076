import { HalfbyteError } from "../errors.ts";
import { readBytes } from "../formats/byte-source.ts";
import { decodeToMatrix } from "../formats/ggml/decode.ts";
import type { GgufTensor } from "../formats/gguf/parse.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import { checkRows } from "./check-rows.ts";
import { ggufVector } from "./gguf-config.ts";
import type { TensorStore } from "./model-weights.ts";

/** The tensors of a GGUF file; norm weights stand there as they are used. */
export function ggufTensors(tensors: ReadonlyMap<string, GgufTensor>, place: string): TensorStore {
  return {
    place,
    names: tensors.keys(),
    matrix(name) {
      const tensor = tensors.get(name);
      return tensor && ggufMatrix(tensor);
    },
    vectorLength: (name) => tensors.get(name)?.K,
    vector(name) {
      const tensor = tensors.get(name)!;
      return ggufVector(tensor, tensor.K);
    },
  };
}

/** A matrix of a GGUF file, read by rows, as ggml blocks or decoded. Throws ERR_SHAPE for more than two dimensions. */
export function ggufMatrix(tensor: GgufTensor): MatrixSource {
  const { name, type, N, K, source, offset } = tensor;
  if (tensor.shape.length > 2)
    throw new HalfbyteError("ERR_SHAPE", "not a matrix", { place: name, got: tensor.shape.join(" × ") });
  const rowBytes = (K / type.blockSize) * type.blockBytes;
  return {
    name,
    N,
    K,
    rowBytes,
    like: decodeToMatrix(type, new Uint8Array(0), 0, K),
    async readRows(first, count) {
      checkRows(name, N, first, count);
      return decodeToMatrix(type, await readBytes(source, offset + first * rowBytes, count * rowBytes), count, K);
    },
    ggml: {
      type: type.id,
      async readInto(first, count, target) {
        checkRows(name, N, first, count);
        if (target.byteLength !== count * rowBytes)
          throw new HalfbyteError("ERR_ARGUMENT", "target of another size than the rows", {
            place: name,
            expected: `${count * rowBytes} bytes`,
            got: String(target.byteLength),
          });
        await source.readInto(offset + first * rowBytes, target);
      },
    },
  };
}
