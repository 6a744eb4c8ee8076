import { HalfbyteError } from "../errors.ts";
import type { SafetensorsTensor } from "../formats/safetensors/open-safetensors.ts";
import { shown } from "../formats/shown.ts";
import type { QuantizationMethod } from "./quantization-config.ts";

export type Encoding = "cpu_int4" | "gptq" | "awq" | "pack-quantized" | "int-quantized";

/** The tensors of one quantised matrix, by the ends of their names. */
export interface QuantizedTensors {
  /** Without `.weight`. */
  readonly name: string;
  readonly encoding: Encoding;
  readonly parts: Readonly<Partial<Record<string, SafetensorsTensor>>>;
}

export const METHODS: Record<Encoding, QuantizationMethod> = {
  cpu_int4: "cpu_int4",
  gptq: "gptq",
  awq: "awq",
  "pack-quantized": "compressed-tensors",
  "int-quantized": "compressed-tensors",
};

/** Ends of names that belong to a quantised matrix. */
const ENDS =
  /^(.+)\.(weight_packed|weight_scale|weight_zero|weight_zero_point|weight_shape|weight_g_idx|weight_global_scale|input_scale|input_zero_point|qweight|qzeros|scales|g_idx)$/;

export interface SortedTensors {
  /** By their names without `.weight`. */
  readonly quantized: ReadonlyMap<string, QuantizedTensors>;
  /** All others. */
  readonly plain: ReadonlyMap<string, SafetensorsTensor>;
}

/**
 * Finds the quantised matrices of a checkpoint and how each is encoded, by names, types and shapes alone. Throws
 * ERR_FORMAT for a matrix that is there both as floats and quantised.
 */
export function sortTensors(tensors: ReadonlyMap<string, SafetensorsTensor>): SortedTensors {
  const groups = new Map<string, Partial<Record<string, SafetensorsTensor>>>();
  for (const [name, tensor] of tensors) {
    const [, matrix, end] = ENDS.exec(name) ?? (tensor.dtype === "I8" ? /^(.+)\.(weight)$/.exec(name) : null) ?? [];
    if (matrix === undefined || end === undefined) continue;
    const parts = groups.get(matrix) ?? {};
    groups.set(matrix, parts);
    parts[end] = tensor;
  }
  const quantized = new Map<string, QuantizedTensors>();
  const plain = new Map(tensors);
  for (const [name, parts] of groups) {
    const encoding = encodingOf(name, parts);
    if (!encoding) continue;
    quantized.set(name, { name, encoding, parts });
    for (const { name: part } of Object.values(parts) as SafetensorsTensor[]) plain.delete(part);
    if (plain.has(`${name}.weight`))
      throw new HalfbyteError("ERR_FORMAT", "the matrix is there twice, as floats and quantised", {
        place: shown(name),
        remedy: "remove one of the two: nothing tells which is meant",
      });
  }
  return { quantized, plain };
}

/** Undefined where the tensor that holds the codes is not among them. */
function encodingOf(name: string, parts: Partial<Record<string, SafetensorsTensor>>): Encoding | undefined {
  const { weight, weight_packed, weight_scale, weight_global_scale, qweight, qzeros, scales } = parts;
  if (weight_packed && (weight_global_scale || (weight_scale && /^(F8|U8)/.test(weight_scale.dtype))))
    throw new HalfbyteError("ERR_UNSUPPORTED", "4-bit floats in safetensors cannot be read", { place: shown(name) });
  if (weight_packed) return weight_packed.dtype === "I32" ? "pack-quantized" : "cpu_int4";
  // AWQ has eight outputs in a word of codes, as both have in a word of zeros.
  const width = scales ? scales.shape[1]! / 8 : qzeros?.shape[1];
  if (qweight) return width && qweight.shape[1] === width ? "awq" : "gptq";
  return weight && "int-quantized";
}
