import { HalfbyteError } from "../../errors.ts";
import type { Plan } from "../../plan/plan.ts";
import type { MatrixSource } from "../../weights/matrix-source.ts";
import { packFrom, rowsPerChunk } from "../../weights/pack.ts";
import type { LoadOptions, WeightSet } from "../executor.ts";
import { type Addon, calling, type Handle } from "./addon.ts";

/** Packs all matrices of the plan in the addon's memory. */
export async function loadWeights(
  addon: Addon,
  handle: Handle,
  plan: Plan,
  weights: WeightSet,
  { signal, onProgress }: LoadOptions,
): Promise<void> {
  const totalBytes = plan.matrices.reduce((sum, { layout }) => sum + layout.byteLength, 0);
  const packer = new BlockPacker(addon, handle);
  let packedBytes = 0;
  try {
    for (const [i, { layout, name }] of plan.matrices.entries()) {
      const source = weights.matrix(name);
      if (source.N !== layout.N || source.K !== layout.K)
        throw new HalfbyteError("ERR_SHAPE", "the weights are not those of the plan", {
          place: source.name,
          expected: `[${layout.N}, ${layout.K}]`,
          got: `[${source.N}, ${source.K}]`,
        });
      if (hasBlocks(addon, source)) await packer.pack(i, source, signal);
      else {
        const buffer = calling(() => addon.matrixBytes(handle, i));
        const bytes = new Uint8Array(buffer);
        await packFrom(source, layout, () => bytes, signal);
        addon.detach(buffer);
      }
      onProgress?.((packedBytes += layout.byteLength), totalBytes);
    }
  } finally {
    // The addon must not be released while its threads read.
    await packer.settled();
  }
}

type BlockSource = MatrixSource & { readonly ggml: NonNullable<MatrixSource["ggml"]> };

function hasBlocks(addon: Addon, source: MatrixSource): source is BlockSource {
  return source.ggml !== undefined && addon.canPack(source.ggml.type);
}

/** Reads rows as the file has them into one buffer while the pool packs those of the other. */
class BlockPacker {
  readonly #addon: Addon;
  readonly #handle: Handle;
  readonly #buffers = [new Uint8Array(0), new Uint8Array(0)];
  #packing: Promise<unknown> = Promise.resolve();
  #chunks = 0;

  constructor(addon: Addon, handle: Handle) {
    this.#addon = addon;
    this.#handle = handle;
  }

  async pack(matrix: number, source: BlockSource, signal: AbortSignal | undefined): Promise<void> {
    const step = rowsPerChunk(source);
    for (let first = 0; first < source.N; first += step) {
      signal?.throwIfAborted();
      const rows = Math.min(step, source.N - first);
      const bytes = this.#buffer(rows * source.rowBytes);
      await source.ggml.readInto(first, rows, bytes);
      await this.#packing;
      this.#packing = calling(() => this.#addon.pack(this.#handle, matrix, source.ggml.type, first, rows, bytes));
    }
  }

  async settled(): Promise<void> {
    await this.#packing;
  }

  #buffer(bytes: number): Uint8Array {
    const i = this.#chunks++ % 2;
    if (this.#buffers[i]!.length < bytes) this.#buffers[i] = new Uint8Array(bytes);
    return this.#buffers[i]!.subarray(0, bytes);
  }
}
