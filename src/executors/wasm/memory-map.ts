import { encodeMatrix, encodeOps, MATRIX_WORDS } from "../../plan/encode.ts";
import { ACTIVATION_MAX, type Plan } from "../../plan/plan.ts";
import { CONTROL, CONTROL_END } from "./control.ts";
import type { KernelMemory } from "./kernel-memory.ts";

/** Byte addresses of all that does not move, in the order it stands in memory; the cache pool follows. */
export interface MemoryMap {
  readonly opRecords: number;
  readonly matrices: number;
  readonly vectorTable: number;
  readonly ropeTable: number;
  readonly claims: number;
  readonly claimWords: number;
  readonly tokenIds: number;
  readonly logitRows: number;
  readonly positions: number;
  readonly blockTables: number;
  readonly pieces: number;
  /** By table: f32 [maxRows][rotary]. */
  readonly ropeRows: readonly number[];
  readonly arena: number;
  readonly vectors: readonly number[];
  readonly weights: readonly number[];
  readonly end: number;
}

const ALIGNMENT = 64;

export function alignUp(address: number): number {
  return Math.ceil(address / ALIGNMENT) * ALIGNMENT;
}

/** Blocks of the cache that stand together; wasm/store.ts says how. */
export const CACHE_CHUNK_BLOCKS = 16;

/** Words of one piece of attention: first row, rows, position of the first row. */
export const PIECE_WORDS = 3;

export function mapMemory(plan: Plan, threads: number): MemoryMap {
  let end = CONTROL_END;
  const take = (bytes: number): number => {
    const at = alignUp(end);
    end = at + bytes;
    return at;
  };
  const { maxRows } = plan;
  return {
    opRecords: take(encodeOps(plan.ops).byteLength),
    matrices: take(plan.matrices.length * MATRIX_WORDS * 4),
    vectorTable: take(plan.vectors.length * 4),
    ropeTable: take(plan.ropeTables.length * 4),
    claims: take(plan.ops.length * threads * 4),
    claimWords: plan.ops.length * threads,
    tokenIds: take(maxRows * 4),
    logitRows: take(maxRows * 4),
    positions: take(maxRows * 4),
    blockTables: take(maxRows * 4),
    pieces: take(maxRows * PIECE_WORDS * 4),
    ropeRows: plan.ropeTables.map(({ rotary }) => take(maxRows * rotary * 4)),
    arena: take(plan.arenaBytes),
    vectors: plan.vectors.map(({ length }) => take(length * 4)),
    weights: plan.matrices.map(({ layout }) => take(layout.byteLength)),
    get end() {
      return alignUp(end);
    },
  };
}

/** Writes what is the same in every step: records, tables and addresses. */
export function writePlan(plan: Plan, map: MemoryMap, memory: KernelMemory): void {
  const { words, floats } = memory;
  const ops = encodeOps(plan.ops);
  words.set(ops, map.opRecords / 4);
  plan.matrices.forEach(({ layout }, i) => {
    words.set(encodeMatrix(layout, map.weights[i]!), map.matrices / 4 + i * MATRIX_WORDS);
  });
  words.set(map.vectors, map.vectorTable / 4);
  words.set(map.ropeRows, map.ropeTable / 4);
  const { type, blockBytes, headBytes, kvHeads, headSize } = plan.cache;
  const control: Partial<Record<keyof typeof CONTROL, number>> = {
    opRecords: map.opRecords,
    opRecordsEnd: map.opRecords + ops.byteLength,
    matrices: map.matrices,
    vectors: map.vectorTable,
    ropeTables: map.ropeTable,
    arena: map.arena,
    claims: map.claims,
    tokenIds: map.tokenIds,
    logitRows: map.logitRows,
    positions: map.positions,
    blockTables: map.blockTables,
    pieces: map.pieces,
    cacheChunkBytes: blockBytes * CACHE_CHUNK_BLOCKS,
    cacheHeadBytes: headBytes,
    cacheKvHeads: kvHeads,
    cacheHeadSize: headSize,
    cacheF32: type === "f32" ? 1 : 0,
  };
  setControl(memory, control);
  floats[CONTROL.activationMax / 4] = ACTIVATION_MAX[plan.activations];
  words.fill(0x8fffe000, CONTROL.halfBits / 4, CONTROL.halfBits / 4 + 4);
  floats.fill(2 ** 112, CONTROL.halfFactor / 4, CONTROL.halfFactor / 4 + 4);
}

export function setControl(memory: KernelMemory, values: Partial<Record<keyof typeof CONTROL, number>>): void {
  for (const [name, value] of Object.entries(values)) memory.words[CONTROL[name as keyof typeof CONTROL] / 4] = value;
}
