import type { MatrixSource } from "../../weights/matrix-source.ts";
import type { GroupValues, QuantizedMatrix } from "../../weights/quantized-matrix.ts";
import { checkRange } from "../byte-source.ts";
import type { SafetensorsTensor } from "../safetensors/open-safetensors.ts";
import { shown } from "../shown.ts";
import type { MatrixForm } from "./form.ts";
import { type OutputAxis, readOutputs, sliceOutputs } from "./outputs.ts";
import type { Parts, Tensor } from "./tensors.ts";

/**
 * Bytes of a matrix that are held while its rows are asked for, where outputs run along the inner axis (GPTQ, AWQ): any
 * of them are spread over the whole tensor, so a block of outputs is read at once. Most matrices are smaller than it.
 */
const HELD_BYTES: number = 64 * 1024 * 1024;

export interface EncodedMatrix<Key extends string, Form extends MatrixForm> {
  readonly name: string;
  readonly form: Form;
  readonly tensors: Parts<Key, SafetensorsTensor>;
  /** Tensors without an axis are not read. */
  readonly axes: Readonly<Record<Key, OutputAxis | undefined>>;
  /** Decodes tensors of `form.N` outputs, none included. */
  decode(parts: Parts<Key>, form: Form): QuantizedMatrix;
}

interface Held {
  readonly first: number;
  readonly end: number;
  readonly parts: [key: string, at: OutputAxis, tensor: Tensor][];
}

/**
 * A matrix in an encoding of safetensors, read by rows. Memory beside the rows asked for stays under 64 MiB, or one
 * reading of rows where that is more.
 */
export function encodedMatrix<Key extends string, Form extends MatrixForm>(
  encoded: EncodedMatrix<Key, Form>,
  heldBytes: number = HELD_BYTES,
): MatrixSource {
  const { name, form, axes } = encoded;
  const { N, K } = form;
  const used: [Key, OutputAxis, SafetensorsTensor][] = [];
  for (const [key, at] of Object.entries(axes) as [Key, OutputAxis | undefined][]) {
    const tensor = encoded.tensors[key];
    if (at && tensor) used.push([key, at, tensor]);
  }
  const unit = Math.max(...used.map(([, at]) => at.outputsPerElement));
  const rowBytes = Math.ceil(used.reduce((sum, [, , { byteLength }]) => sum + byteLength, 0) / N);
  const acrossRows = used.some(([, at]) => at.axis === 1);
  // Whole multiples of what is asked for, so that asking in turn reads nothing twice.
  const outputsFor = (count: number): number =>
    acrossRows ? Math.max(1, Math.floor(heldBytes / rowBytes / count)) * count : count;
  const decode = (parts: Held["parts"], outputs: number): QuantizedMatrix =>
    encoded.decode(Object.fromEntries(parts.map(([key, , tensor]) => [key, tensor])) as Parts<Key>, {
      ...form,
      N: outputs,
    });

  const read = async (first: number, end: number): Promise<Held> => ({
    first,
    end,
    parts: await Promise.all(
      used.map(
        async ([key, at, tensor]) => [key, at, await readOutputs(tensor, at, first, end - first)] as Held["parts"][0],
      ),
    ),
  });
  const like = decode(
    used.map(([key, at, { dtype, shape }]) => [
      key,
      at,
      { dtype, shape: shape.map((size, i) => (i === at.axis ? 0 : size)), bytes: new Uint8Array(0) },
    ]),
    0,
  );
  let held: Held | undefined;

  return {
    name,
    N,
    K,
    rowBytes,
    like,
    async readRows(first, count) {
      checkRange({ name: `rows of ${shown(name)}`, size: N }, first, count);
      if (count === 0) return like;
      const start = Math.floor(first / unit) * unit;
      const end = Math.min(N, Math.ceil((first + count) / unit) * unit);
      let block = held;
      if (!block || start < block.first || end > block.end)
        block = await read(start, Math.min(N, start + outputsFor(end - start)));
      held = end === block.end ? undefined : block;
      const parts = block.parts.map(
        ([key, at, tensor]) =>
          [key, at, sliceOutputs(tensor, at, start - block.first, end - start)] as Held["parts"][0],
      );
      return rowsOf(decode(parts, end - start), first - start, count);
    },
  };
}

/** Rows of a matrix whose group values are not two-level. */
function rowsOf(matrix: QuantizedMatrix, first: number, count: number): QuantizedMatrix {
  if (count === matrix.N) return matrix;
  const cut = <T extends Uint8Array | Uint16Array | Float32Array>(all: T): T => {
    const width = all.length / matrix.N;
    return all.slice(first * width, (first + count) * width) as T;
  };
  const values = (all: GroupValues): GroupValues =>
    "superSize" in all ? all : ({ ...all, values: cut(all.values) } as GroupValues);
  const { codes, scale, zero, offset } = matrix;
  return {
    ...matrix,
    N: count,
    codes: cut(codes),
    scale: values(scale),
    zero: typeof zero === "number" ? zero : cut(zero),
    ...(offset && { offset: values(offset) }),
  };
}
