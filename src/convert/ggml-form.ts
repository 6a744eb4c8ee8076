import { HalfbyteError } from "../errors.ts";
import { INEXACT_REMEDY } from "../formats/encodings/exact-form.ts";
import { encodeBlocks, type WritableBlocks } from "../formats/ggml/encode.ts";
import { type GgmlType, ggmlTypes } from "../formats/ggml/types.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import type { FloatType, QuantizedMatrix } from "../weights/quantized-matrix.ts";
import { chunkRows, eachChunk } from "./chunks.ts";
import { vouchedForm } from "./folder-form.ts";
import { exactFloatType, floatBytes } from "./outgoing.ts";
import type { GgufHeader, Outgoing } from "./writer.ts";

/** The types of tensors that a GGUF file can be written with. A file's own blocks can also be kept, whatever their type. */
export type GgufEncoding = "F32" | "F16" | "BF16" | WritableBlocks;

export const GGUF_ENCODINGS: readonly GgufEncoding[] = ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q4_K"];

const FLOATS: Partial<Record<GgufEncoding, FloatType>> = { F32: "f32", F16: "f16", BF16: "bf16" };

export function isFloat(encoding: GgufEncoding): boolean {
  return FLOATS[encoding] !== undefined;
}

/** Where nothing is asked for: the smallest type that holds the matrix. */
const SMALLEST_FIRST: readonly WritableBlocks[] = ["Q4_0", "Q4_1", "Q4_K", "Q8_0"];

export function typeNamed(name: string): GgmlType {
  return ggmlTypes().find((type) => type.name === name)!;
}

/** Whether a matrix of the file is there in blocks of that very type, to be copied. */
function standsAs(source: MatrixSource, type: GgmlType): boolean {
  return source.ggml?.type === type.id && !source.inputOrder;
}

/**
 * The type a matrix can be written in without loss: its own where none is asked for or, made of floats, blocks are; that
 * which is asked for; or the smallest that holds it. Throws ERR_UNSUPPORTED, with the matrix as the place and the reason.
 */
export async function exactGgmlType(
  source: MatrixSource,
  asked: GgufEncoding | undefined,
  signal?: AbortSignal,
  withNaN?: Set<string>,
): Promise<GgmlType> {
  const { ggml, like } = source;
  const vouched = vouchedForm(source)?.blocks;
  if (vouched !== undefined) return typeNamed(vouched);
  const float = asked && FLOATS[asked];
  if (float) {
    await exactFloatType(source, [float], signal, withNaN);
    return typeNamed(asked);
  }
  if (like.kind === "float") return typeNamed(like.type.toUpperCase());
  if (asked) {
    await tryBlocks(source, asked as WritableBlocks, signal);
    return typeNamed(asked);
  }
  if (ggml && !source.inputOrder) return ggmlTypes().find(({ id }) => id === ggml.type)!;
  for (const type of SMALLEST_FIRST) if (await fits(source, type, signal)) return typeNamed(type);
  return typeNamed((await exactFloatType(source, ["bf16", "f16", "f32"], signal)).toUpperCase());
}

async function fits(source: MatrixSource, type: WritableBlocks, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    await tryBlocks(source, type, signal);
    return true;
  } catch (error) {
    if (error instanceof HalfbyteError && error.code === "ERR_UNSUPPORTED") return false;
    throw error;
  }
}

async function tryBlocks(source: MatrixSource, type: WritableBlocks, signal: AbortSignal | undefined): Promise<void> {
  const { name, like, inputOrder, ggml } = source;
  if (inputOrder)
    throw new HalfbyteError(
      "ERR_UNSUPPORTED",
      `${type} cannot hold this matrix exactly: its inputs stand in an order of their own`,
      { place: name, remedy: INEXACT_REMEDY },
    );
  if (ggml?.type === typeNamed(type).id) return;
  // A refusal that follows from the kind of the matrix comes without reading.
  encodeBlocks(type, like as QuantizedMatrix, name);
  await eachChunk(source, signal, (rows, first) => {
    encodeBlocks(type, rows as QuantizedMatrix, name, first);
  });
}

/** A matrix as a tensor of a GGUF file: its own blocks where it stands in them, else encoded anew; floats are rounded. */
export function ggufTensor(
  name: string,
  source: MatrixSource,
  type: GgmlType,
  shape: readonly number[] = [source.K, source.N],
): Outgoing<GgufHeader> {
  const { N, K } = source;
  const rowBytes = (K / type.blockSize) * type.blockBytes;
  const header: GgufHeader = { name, type, shape, byteLength: N * rowBytes };
  const float = FLOATS[type.name as GgufEncoding];
  return {
    tensors: [header],
    async write(put, signal) {
      if (standsAs(source, type)) return copyBlocks(header, source, put, signal);
      await eachChunk(source, signal, (rows, first) => {
        const bytes = float
          ? floatBytes(rows, float, source.inputOrder)
          : encodeBlocks(type.name as WritableBlocks, rows as QuantizedMatrix, source.name, first);
        return put(name, first * rowBytes, bytes);
      });
    },
  };
}

async function copyBlocks(
  { name }: GgufHeader,
  { ggml, N, K, rowBytes }: MatrixSource,
  put: Parameters<Outgoing<GgufHeader>["write"]>[0],
  signal: AbortSignal | undefined,
): Promise<void> {
  const step = chunkRows(K);
  for (let first = 0; first < N; first += step) {
    signal?.throwIfAborted();
    const count = Math.min(step, N - first);
    const bytes = new Uint8Array(count * rowBytes);
    await ggml!.readInto(first, count, bytes);
    await put(name, first * rowBytes, bytes);
  }
}
