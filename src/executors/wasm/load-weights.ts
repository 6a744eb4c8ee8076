import { HalfbyteError } from "../../errors.ts";
import type { Plan } from "../../plan/plan.ts";
import type { MatrixSource } from "../../weights/matrix-source.ts";
import { packFrom, rowsPerChunk } from "../../weights/pack.ts";
import { BLOCK_OUTPUTS } from "../../weights/packed-layout.ts";
import type { LoadOptions, WeightSet } from "../executor.ts";
import type { ComputePool } from "./compute-pool.ts";
import type { KernelMemory } from "./kernel-memory.ts";
import { alignUp, type MemoryMap, setControl } from "./memory-map.ts";

type Loading = Pick<LoadOptions, "signal" | "onProgress">;

/**
 * Packs all matrices into the memory and copies the vectors. Rows of ggml blocks are read behind the weights, where the
 * cache will stand, and packed by the pool while the next ones are read; others are packed here.
 */
export async function loadWeights(
  plan: Plan,
  weights: WeightSet,
  map: MemoryMap,
  memory: KernelMemory,
  pool: ComputePool,
  { signal, onProgress }: Loading,
): Promise<void> {
  const totalBytes = plan.matrices.reduce((sum, { layout }) => sum + layout.byteLength, 0);
  const sources = plan.matrices.map(({ name }) => weights.matrix(name));
  const staging = new Staging(sources, map.end, memory, pool);
  let packedBytes = 0;
  for (const [index, { layout }] of plan.matrices.entries()) {
    signal?.throwIfAborted();
    const source = sources[index]!;
    if (source.N !== layout.N || source.K !== layout.K)
      throw new HalfbyteError("ERR_SHAPE", "the weights are not those of the plan", {
        place: source.name,
        expected: `[${layout.N}, ${layout.K}]`,
        got: `[${source.N}, ${source.K}]`,
      });
    if (canPack(source)) await staging.pack(index, source, signal);
    else {
      const at = map.weights[index]!;
      await packFrom(source, layout, () => memory.bytes.subarray(at, at + layout.byteLength), signal);
    }
    onProgress?.((packedBytes += layout.byteLength), totalBytes);
  }
  await staging.finish();
  await Promise.all(
    plan.vectors.map(async ({ name, length }, i) => {
      const vector = await weights.vector(name);
      if (vector.length !== length)
        throw new HalfbyteError("ERR_SHAPE", "the weights are not those of the plan", {
          place: name,
          expected: `${length}`,
          got: `${vector.length}`,
        });
      memory.floats.set(vector, map.vectors[i]! / 4);
    }),
  );
}

/** ggml types that wasm/pack.ts knows. */
const PACKED_TYPES: ReadonlySet<number> = new Set([0, 1, 2, 3, 6, 7, 8, 12, 13, 14, 20, 30, 39]);

type BlockSource = MatrixSource & { readonly ggml: NonNullable<MatrixSource["ggml"]> };

function canPack(source: MatrixSource): source is BlockSource {
  return source.ggml !== undefined && PACKED_TYPES.has(source.ggml.type);
}

function rowsAtOnce(source: MatrixSource): number {
  return Math.min(rowsPerChunk(source), source.N);
}

/** Two places for rows as the file has them: one is read to while the other is packed. */
class Staging {
  readonly #address: number;
  readonly #slotBytes: number;
  readonly #memory: KernelMemory;
  readonly #pool: ComputePool;
  #packing: Promise<void> = Promise.resolve();
  #chunks = 0;

  constructor(sources: readonly MatrixSource[], address: number, memory: KernelMemory, pool: ComputePool) {
    const sizes = sources.filter(canPack).map((source) => rowsAtOnce(source) * source.rowBytes);
    this.#address = address;
    this.#slotBytes = alignUp(Math.max(0, ...sizes));
    this.#memory = memory;
    this.#pool = pool;
    memory.ensure(address + 2 * this.#slotBytes);
  }

  async pack(matrix: number, source: BlockSource, signal: AbortSignal | undefined): Promise<void> {
    const step = rowsAtOnce(source);
    for (let first = 0; first < source.N; first += step) {
      signal?.throwIfAborted();
      const rows = Math.min(step, source.N - first);
      const at = this.#address + (this.#chunks++ % 2) * this.#slotBytes;
      await source.ggml.readInto(first, rows, this.#memory.bytes.subarray(at, at + rows * source.rowBytes));
      await this.#packing;
      setControl(this.#memory, {
        packType: source.ggml.type,
        packSource: at,
        packRowBytes: source.rowBytes,
        packRows: rows,
        packMatrix: matrix,
        packFirstBlock: first / BLOCK_OUTPUTS,
        packClaim: 0,
      });
      this.#packing = this.#pool.run("pack");
      // Seen when it is awaited; a failure before that is not unhandled.
      this.#packing.catch(() => {});
    }
  }

  finish(): Promise<void> {
    return this.#packing;
  }
}
