import { HalfbyteError } from "../errors.ts";
import type { ByteSource } from "../formats/byte-source.ts";
import { openSafetensors, type SafetensorsTensor } from "../formats/safetensors/open-safetensors.ts";
import { tensorBytes } from "../formats/tensor-bytes.ts";
import type { Truth } from "./quality.ts";

/** Far past any text that is worth comparing. */
const MAX_POSITIONS = 1_000_000;
const MAX_WIDTH = 1024;

/**
 * Reads a truth from safetensors: `ids` i32 [n], `top_ids` i32 [n, width], `top_logprobs` f32 [n, width], `nll` f32
 * [n − 1]. Throws ERR_MISSING, ERR_SHAPE or ERR_LIMIT where they are not that.
 */
export async function readTruth(source: ByteSource): Promise<Truth> {
  const { tensors } = await openSafetensors(source);
  const tensor = (name: string, dtype: string, shape: (number | undefined)[]): SafetensorsTensor => {
    const found = tensors.get(name);
    if (!found) throw new HalfbyteError("ERR_MISSING", "no such tensor", { place: `${source.name}, ${name}` });
    const fits = found.shape.length === shape.length && shape.every((n, i) => n === undefined || n === found.shape[i]);
    if (found.dtype === dtype && fits) return found;
    throw new HalfbyteError("ERR_SHAPE", "tensor of another kind", {
      place: `${source.name}, ${name}`,
      expected: `${dtype} [${shape.map((n) => n ?? "any")}]`,
      got: `${found.dtype} [${found.shape}]`,
    });
  };
  const ids = tensor("ids", "I32", [undefined]);
  const n = ids.shape[0]!;
  const topIds = tensor("top_ids", "I32", [n, undefined]);
  const width = topIds.shape[1]!;
  if (n < 2 || n > MAX_POSITIONS || width < 1 || width > MAX_WIDTH)
    throw new HalfbyteError("ERR_LIMIT", "unusable size", {
      place: source.name,
      expected: `2 to ${MAX_POSITIONS} positions of 1 to ${MAX_WIDTH} tokens`,
      got: `${n} of ${width}`,
    });
  const logs = tensor("top_logprobs", "F32", [n, width]);
  const nll = tensor("nll", "F32", [n - 1]);
  return {
    ids: new Int32Array((await tensorBytes(ids)).buffer),
    width,
    topIds: new Int32Array((await tensorBytes(topIds)).buffer),
    topLogProbabilities: new Float32Array((await tensorBytes(logs)).buffer),
    negativeLogProbabilities: new Float32Array((await tensorBytes(nll)).buffer),
  };
}
