import { HalfbyteError } from "../errors.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import type { FloatType } from "../weights/quantized-matrix.ts";
import { checkRange, readBytes } from "./byte-source.ts";
import { decodeFloats, floatBytes, floatMatrix } from "./float-values.ts";
import { checkDecodes, decodeToFloat, decodeToMatrix } from "./ggml/decode.ts";
import type { GgufTensor } from "./gguf/parse.ts";
import type { SafetensorsDtype, SafetensorsTensor } from "./safetensors/open-safetensors.ts";
import { shown } from "./shown.ts";
import { tensorBytes } from "./tensor-bytes.ts";

const floatTypes: ReadonlyMap<SafetensorsDtype, FloatType> = new Map([
  ["F32", "f32"],
  ["F16", "f16"],
  ["BF16", "bf16"],
]);

/** A whole tensor of any decodable type as f32, in the file's order. Throws ERR_UNSUPPORTED for other types. */
export async function ggufFloats(tensor: GgufTensor): Promise<Float32Array> {
  checkDecodes(tensor.type);
  const out = new Float32Array(tensor.N * tensor.K);
  decodeToFloat(tensor.type, await tensorBytes(tensor), out);
  return out;
}

/** A whole F32, F16 or BF16 tensor as f32, in the file's order. Throws ERR_UNSUPPORTED for other types. */
export async function safetensorsFloats(tensor: SafetensorsTensor): Promise<Float32Array> {
  const type = floatTypeOf(tensor);
  const out = new Float32Array(tensor.byteLength / floatBytes(type));
  decodeFloats(type, await tensorBytes(tensor), out);
  return out;
}

/** A tensor of a GGUF file as [N, K], read by rows. Throws ERR_UNSUPPORTED for a type that cannot be decoded. */
export function ggufMatrix(tensor: GgufTensor): MatrixSource {
  const { name, type, N, K } = tensor;
  const rowBytes = tensor.byteLength / N;
  const like = decodeToMatrix(type, new Uint8Array(0), 0, K);
  const readInto = async (first: number, count: number, target: Uint8Array): Promise<void> => {
    checkRange({ name: `${tensor.source.name}, rows of ${shown(name)}`, size: N }, first, count);
    await tensor.source.readInto(tensor.offset + first * rowBytes, target.subarray(0, count * rowBytes));
  };
  return {
    name,
    N,
    K,
    like,
    rowBytes,
    async readRows(first, count) {
      checkRange({ name: `${tensor.source.name}, rows of ${shown(name)}`, size: N }, first, count);
      const bytes = await readBytes(tensor.source, tensor.offset + first * rowBytes, count * rowBytes);
      return decodeToMatrix(type, bytes, count, K);
    },
    ggml: { type: type.id, readInto },
  };
}

/**
 * A float tensor of a safetensors file as [N, K], read by rows; K is the last dimension. Throws ERR_UNSUPPORTED for
 * other types, ERR_SHAPE for one without elements or dimensions.
 */
export function safetensorsMatrix(tensor: SafetensorsTensor): MatrixSource {
  const { name, shape } = tensor;
  const type = floatTypeOf(tensor);
  const K = shape.at(-1) ?? 0;
  if (tensor.byteLength === 0 || K === 0) {
    throw new HalfbyteError("ERR_SHAPE", "not a matrix", {
      place: `${tensor.source.name}, tensor ${shown(name)}`,
      got: shown(`[${shape}]`),
    });
  }
  const rowBytes = K * floatBytes(type);
  const N = tensor.byteLength / rowBytes;
  return {
    name,
    N,
    K,
    like: floatMatrix(type, new Uint8Array(0), 0, K),
    rowBytes,
    async readRows(first, count) {
      checkRange({ name: `${tensor.source.name}, rows of ${shown(name)}`, size: N }, first, count);
      const bytes = await readBytes(tensor.source, tensor.offset + first * rowBytes, count * rowBytes);
      return floatMatrix(type, bytes, count, K);
    },
  };
}

function floatTypeOf(tensor: SafetensorsTensor): FloatType {
  const type = floatTypes.get(tensor.dtype);
  if (type) return type;
  throw new HalfbyteError("ERR_UNSUPPORTED", "not a float tensor", {
    place: `${tensor.source.name}, tensor ${shown(tensor.name)}`,
    expected: [...floatTypes.keys()].join(", "),
    got: tensor.dtype,
  });
}
