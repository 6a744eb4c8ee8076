import { HalfbyteError } from "../../errors.ts";
import { readBytes } from "../byte-source.ts";
import type { SafetensorsTensor } from "../safetensors/open-safetensors.ts";
import { elementBytes, type Tensor, type TensorHeader } from "./tensors.ts";

/** How the outputs of a matrix run in one of its tensors. Tensors that are the same for all outputs have no axis. */
export interface OutputAxis {
  readonly axis: 0 | 1;
  /** A word may hold the codes of several outputs. */
  readonly outputsPerElement: number;
}

/** Part of a tensor: outputs `first … first + count − 1`; `first` begins an element. */
export function sliceOutputs(tensor: Tensor, at: OutputAxis, first: number, count: number): Tensor {
  const { start, length, shape, rows, rowBytes, unit } = span(tensor, at, first, count);
  if (rows === 1) return { ...tensor, shape, bytes: tensor.bytes.subarray(start * unit, (start + length) * unit) };
  const bytes = new Uint8Array(rows * length * unit);
  for (let r = 0; r < rows; r++) {
    const from = r * rowBytes + start * unit;
    bytes.set(tensor.bytes.subarray(from, from + length * unit), r * length * unit);
  }
  return { dtype: tensor.dtype, shape, bytes };
}

/** The same from a file: in one read where the part is one run of bytes, else in one for each row. */
export async function readOutputs(
  tensor: SafetensorsTensor,
  at: OutputAxis,
  first: number,
  count: number,
): Promise<Tensor> {
  const { dtype, source, offset } = tensor;
  const { start, length, shape, rows, rowBytes, unit } = span(tensor, at, first, count);
  if (rows === 1 || length * unit === rowBytes)
    return { dtype, shape, bytes: await readBytes(source, offset + start * unit, rows * length * unit) };
  const bytes = new Uint8Array(rows * length * unit);
  for (let r = 0; r < rows; r++) {
    const to = r * length * unit;
    await source.readInto(offset + r * rowBytes + start * unit, bytes.subarray(to, to + length * unit));
  }
  return { dtype, shape, bytes };
}

/** Where outputs stand along the axis. `unit`: bytes of one step along it in a row, `rows`: how many rows there are. */
function span(tensor: TensorHeader, { axis, outputsPerElement }: OutputAxis, first: number, count: number) {
  if (first % outputsPerElement !== 0)
    throw new HalfbyteError("ERR_ARGUMENT", "a slice begins inside a word", { got: `output ${first}` });
  const start = first / outputsPerElement;
  const length = Math.ceil(count / outputsPerElement);
  const shape = tensor.shape.map((size, i) => (i === axis ? length : size));
  const inner = tensor.shape.slice(axis + 1).reduce((product, size) => product * size, elementBytes(tensor));
  const rows = axis === 0 ? 1 : tensor.shape[0]!;
  return { start, length, shape, rows, rowBytes: tensor.shape[axis]! * inner, unit: inner };
}
