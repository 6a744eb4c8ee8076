import { HalfbyteError } from "../errors.ts";
import type { Declared, MatrixForm } from "../formats/encodings/form.ts";
import type { Tensor } from "../formats/encodings/tensors.ts";
import type { SafetensorsTensor } from "../formats/safetensors/open-safetensors.ts";
import { tensorBytes } from "../formats/tensor-bytes.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import type { Notes } from "./notes.ts";
import type { QuantizedTensors } from "./quantized-tensors.ts";

/** Reads that are under way at once: few for a disk, enough to hide the latency of a server. */
const AT_ONCE = 16;

/** A matrix as it was found, before anything of it is read. */
export interface FoundMatrix extends QuantizedTensors {
  readonly declared: Declared;
  /** File and name, for messages. */
  readonly place: string;
}

/** Ready to be read, or why it cannot be. */
export type OpenedMatrix = MatrixSource | HalfbyteError;

/** Tensors are right; that the configuration is not is noted. */
export function compareWithDeclared({ name, declared }: FoundMatrix, form: MatrixForm, notes: Notes): void {
  const { bits, groupSize } = declared;
  if (bits !== undefined && bits !== form.bits)
    notes.add(`${form.bits}-bit codes, not ${bits} as the configuration has it`, name);
  if (groupSize === undefined) return;
  const inputs = groupSize === -1 ? form.K : Math.min(groupSize, form.K);
  if (inputs !== form.groupSize)
    notes.add(`groups of ${form.groupSize}, not ${inputs} as the configuration has it`, name);
}

export function weight(name: string): string {
  return `${name}.weight`;
}

export async function inMemory(tensor: SafetensorsTensor): Promise<Tensor> {
  return { dtype: tensor.dtype, shape: tensor.shape, bytes: await tensorBytes(tensor) };
}

/** The result, or the HalfbyteError that `run` threw. */
export async function attempt<T>(run: () => Promise<T>): Promise<T | HalfbyteError> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof HalfbyteError && error.code !== "ERR_IO" && error.code !== "ERR_NETWORK") return error;
    throw error;
  }
}

/** Runs for each item, so many at once, to the end of all. */
export async function eachAtOnce<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  for (let first = 0; first < items.length; first += AT_ONCE)
    await Promise.all(items.slice(first, first + AT_ONCE).map(run));
}
