import { HalfbyteError } from "../errors.ts";
import { readBytes } from "../formats/byte-source.ts";
import { type GgmlType, ggmlTypes } from "../formats/ggml/types.ts";
import type { GgufTensor } from "../formats/gguf/parse.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import { exactGgmlType, type GgufEncoding, ggufTensor, isFloat, typeNamed } from "./ggml-form.ts";
import { GrownMatrices } from "./grown-matrices.ts";
import { type NearestForm, nearestMatrix } from "./nearest.ts";
import { isRefusal, nanNotes, type PlanOptions } from "./plan-folder.ts";
import type { GgufHeader, Outgoing } from "./writer.ts";

/** A tensor for a GGUF file, by its name there. */
export type GgufItem =
  | { readonly name: string; readonly matrix: MatrixSource; readonly shape?: readonly number[] }
  /** Stays as it is: llama.cpp has vectors as F32, whatever the type of matrices. */
  | { readonly name: string; readonly vector: MatrixSource }
  | { readonly name: string; readonly copy: GgufTensor };

export interface GgufPlan {
  readonly outgoing: readonly Outgoing<GgufHeader>[];
  /** Names of matrices that lose something. */
  readonly rounded: readonly string[];
  readonly notes: readonly string[];
  /** The type most weights have. */
  readonly commonest: GgmlType;
}

const COPY_BYTES: number = 4 * 1024 * 1024;
/** Blocks that can be made by rounding alone; `quantize` makes Q4_K. */
const NEAREST: Partial<Record<GgufEncoding, NearestForm>> = {
  Q4_0: { kind: "middle", bits: 4, type: "f16" },
  Q4_1: { kind: "offsets", bits: 4, type: "f16", zero: 0 },
  Q8_0: { kind: "middle", bits: 8, type: "f16" },
};
const BLOCK = 32;

/**
 * Looks at every weight that does not stay as it is and chooses its type; nothing is written yet. Without `asked` each
 * matrix gets the smallest type that holds it. Throws ERR_UNSUPPORTED, with the first tensor as the place, where a type
 * cannot hold one exactly.
 */
export async function planGguf(
  items: readonly GgufItem[],
  asked: GgufEncoding | undefined,
  { lossy, signal, onProgress }: PlanOptions = {},
): Promise<GgufPlan> {
  if (asked && !isFloat(asked) && !items.some(isQuantized))
    throw new HalfbyteError("ERR_UNSUPPORTED", `nothing here is quantised, so that nothing becomes ${asked}`, {
      remedy: "halfbyte quantize makes 4- and 8-bit weights of floats",
    });
  const outgoing: Outgoing<GgufHeader>[] = [];
  const rounded: string[] = [];
  const grown = new GrownMatrices();
  const withNaN = new Set<string>();
  const total = items.reduce((sum, item) => sum + bytesOf(item), 0);
  let done = 0;
  for (const item of items) {
    signal?.throwIfAborted();
    if ("copy" in item) outgoing.push(copiedBlocks(item.name, item.copy));
    else if ("vector" in item) outgoing.push(ggufTensor(item.name, item.vector, typeNamed("F32"), [item.vector.K]));
    else {
      const { name, matrix, shape } = item;
      try {
        const type = await exactGgmlType(matrix, asked, signal, withNaN);
        outgoing.push(ggufTensor(name, matrix, type, shape));
        if (asked === undefined) grown.add(matrix, type);
      } catch (error) {
        if (!lossy || !isRefusal(error)) throw error;
        outgoing.push(roundedTensor(item, asked!, error));
        rounded.push(matrix.name);
      }
    }
    done += bytesOf(item);
    onProgress?.(done, total);
  }
  return { outgoing, rounded, notes: [...grown.notes(), ...nanNotes(withNaN)], commonest: commonest(outgoing) };
}

function isQuantized(item: GgufItem): boolean {
  if ("copy" in item) return item.copy.type.blockSize > 1;
  return "matrix" in item && item.matrix.like.kind === "quantized";
}

function roundedTensor(
  { name, matrix, shape }: Extract<GgufItem, { matrix: MatrixSource }>,
  asked: GgufEncoding,
  refusal: unknown,
): Outgoing<GgufHeader> {
  const form = NEAREST[asked];
  if (asked === "F16" || asked === "BF16") return ggufTensor(name, matrix, typeNamed(asked), shape);
  if (!form || matrix.inputOrder || matrix.K % BLOCK !== 0) throw refusal;
  return ggufTensor(name, nearestMatrix(matrix, form, BLOCK), typeNamed(asked), shape);
}

function copiedBlocks(name: string, tensor: GgufTensor): Outgoing<GgufHeader> {
  const { type, shape, source, offset, byteLength } = tensor;
  return {
    tensors: [{ name, type, shape, byteLength }],
    async write(put, signal) {
      for (let at = 0; at < byteLength; at += COPY_BYTES) {
        signal?.throwIfAborted();
        await put(name, at, await readBytes(source, offset + at, Math.min(COPY_BYTES, byteLength - at)));
      }
    },
  };
}

function bytesOf(item: GgufItem): number {
  return "matrix" in item ? item.matrix.N * item.matrix.rowBytes : 0;
}

function commonest(outgoing: readonly Outgoing<GgufHeader>[]): GgmlType {
  const counts = new Map<number, number>();
  for (const { tensors } of outgoing)
    for (const { type, shape } of tensors)
      counts.set(type.id, (counts.get(type.id) ?? 0) + shape.reduce((product, size) => product * size, 1));
  const [[id] = [0]] = [...counts].sort((a, b) => b[1] - a[1]);
  return ggmlTypes().find((type) => type.id === id)!;
}
