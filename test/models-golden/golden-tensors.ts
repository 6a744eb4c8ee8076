import { readFile } from "node:fs/promises";
import { memorySource } from "../../src/formats/memory-source.ts";
import { openSafetensors } from "../../src/formats/safetensors/open-safetensors.ts";
import { tensorBytes } from "../../src/formats/tensor-bytes.ts";

/** A tensor of the truth, as plain numbers. */
export interface GoldenTensor {
  readonly shape: readonly number[];
  readonly values: Float32Array | Int32Array;
}

/** All tensors of a golden file; i64 as i32. */
export async function goldenTensors(path: string): Promise<Map<string, GoldenTensor>> {
  const { tensors } = await openSafetensors(memorySource(await readFile(path), path));
  const out = new Map<string, GoldenTensor>();
  for (const [name, tensor] of tensors) {
    const { buffer } = await tensorBytes(tensor);
    const values =
      tensor.dtype === "F32"
        ? new Float32Array(buffer)
        : tensor.dtype === "I32"
          ? new Int32Array(buffer)
          : Int32Array.from(new BigInt64Array(buffer), Number);
    out.set(name, { shape: tensor.shape, values });
  }
  return out;
}
