import { f32ToBf16, f32ToF16 } from "../../arithmetic/half.ts";
import type { FloatType, GroupValues, QuantizedMatrix } from "../../weights/quantized-matrix.ts";
import type { Grid, GridKind } from "../grid.ts";
import { TwoLevelValues } from "../two-level.ts";
import type { KernelJob, KernelPool } from "./kernel-pool.ts";

const KINDS: Record<GridKind, number> = { symmetric: 0, "zero-point": 1, offset: 2 };
const TYPES: Record<FloatType, number> = { f32: 0, f16: 1, bf16: 2 };
/** Outputs of a panel: what kernels that work along an output's groups take at once. */
const PANEL = 16;
/** Panels that stand in memory beside the rows, for each thread. */
const PANELS_A_THREAD = 8;

/** f32 [N, K] in the memory of the kernels. */
export interface KernelRows {
  readonly at: number;
  readonly N: number;
  readonly K: number;
}

/** How much the inputs of a group matter, f32 [K] in the memory of the kernels: ones where nothing is known. */
export type Importance = number;

/** What GPTQ needs of the inputs, in the memory of the kernels. */
export interface GptqFactor {
  /** i32 [K]: the order in which inputs are rounded. */
  readonly order: number;
  /** f32 [K, K] by columns: the upper Cholesky factor of the inverse Hessian in that order. */
  readonly factor: number;
}

/** Min/max rounding to nearest. */
export async function roundMatrix(pool: KernelPool, rows: KernelRows, grid: Grid): Promise<QuantizedMatrix> {
  const { N, K } = rows;
  const mark = pool.mark();
  const groups = K / grid.groupSize;
  const codes = pool.take(N * K);
  const scales = pool.take(N * groups * 4);
  const seconds = pool.take(N * groups * 4);
  const step = Math.ceil(N / pool.threads / 4);
  const jobs: KernelJob[] = [];
  for (let n = 0; n < N; n += step) {
    const count = Math.min(step, N - n) * groups;
    const at = n * groups;
    jobs.push([
      [
        "roundRows",
        ...[rows.at + n * K * 4, count, grid.groupSize, KINDS[grid.kind], 2 ** grid.bits - 1, grid.zero],
        ...[TYPES[grid.scaleType], codes + n * K, scales + at * 4, seconds + at * 4],
      ],
    ]);
  }
  await pool.run(jobs);
  const matrix = quantizedMatrix(
    N,
    K,
    grid,
    pool.bytes(codes, N * K).slice(),
    pool.floats(scales, N * groups),
    pool.floats(seconds, N * groups),
  );
  pool.release(mark);
  return matrix;
}

/** Scales that leave the least error weighted by importance; codes by rounding, or by GPTQ where a factor is given. */
export async function searchMatrix(
  pool: KernelPool,
  rows: KernelRows,
  grid: Grid,
  importance: Importance,
  gptq?: GptqFactor,
): Promise<QuantizedMatrix> {
  const { N, K } = rows;
  const { groupSize } = grid;
  const groups = K / groupSize;
  const codes = new Uint8Array(N * K);
  const scales = new Float32Array(N * groups);
  const seconds = new Float32Array(N * groups);
  const mark = pool.mark();
  const slots = Math.min(Math.ceil(N / PANEL), PANELS_A_THREAD * pool.threads);
  const rooms = Array.from({ length: slots }, () => ({
    panel: pool.take(K * PANEL * 4),
    lost: gptq ? pool.take(K * PANEL * 4) : 0,
    codePanel: pool.take(K * PANEL),
    codes: pool.take(K * PANEL),
    scales: pool.take(groups * PANEL * 4),
    seconds: pool.take(groups * PANEL * 4),
  }));
  const kind = KINDS[grid.kind];
  const largest = 2 ** grid.bits - 1;
  const twoLevel = grid.superSize === undefined ? undefined : new TwoLevelValues(N, K, groupSize, grid.superSize);
  for (let first = 0; first < N; first += slots * PANEL) {
    const used = rooms.slice(0, Math.ceil((N - first) / PANEL));
    const count = (slot: number): number => Math.min(PANEL, N - first - slot * PANEL);
    const search: KernelJob[] = [];
    const code = used.map((room, slot): KernelJob => {
      const { panel, lost, codePanel } = room;
      const values = [kind, largest, grid.zero];
      const parameters = [room.scales, room.seconds];
      const from = rows.at + (first + slot * PANEL) * K * 4;
      search.push([
        ["panelOfRows", from, count(slot), K, panel],
        ["searchPanel", panel, importance, K, groupSize, ...values, TYPES[grid.scaleType], ...parameters],
      ]);
      return [
        gptq
          ? ["gptqPanel", panel, gptq.factor, gptq.order, K, groupSize, ...values, ...parameters, lost, codePanel]
          : ["codePanel", panel, K, groupSize, ...values, ...parameters, codePanel],
        ["rowsOfCodes", codePanel, count(slot), K, room.codes],
      ];
    });
    if (twoLevel) {
      await pool.run(search);
      used.forEach((room, slot) => {
        for (let c = 0; c < count(slot); c++) roundColumn(pool, room, groups, c, first + slot * PANEL + c, twoLevel);
      });
      await pool.run(code);
    } else await pool.run(search.map((job, slot) => [...job, ...code[slot]!]));
    used.forEach((room, slot) => {
      const n = first + slot * PANEL;
      codes.set(pool.bytes(room.codes, count(slot) * K), n * K);
      takeColumns(pool.floats(room.scales, groups * PANEL), count(slot), groups, scales, n);
      takeColumns(pool.floats(room.seconds, groups * PANEL), count(slot), groups, seconds, n);
    });
  }
  pool.release(mark);
  const matrix = quantizedMatrix(N, K, grid, codes, scales, seconds);
  return twoLevel ? { ...matrix, scale: twoLevel.scale, offset: twoLevel.offset } : matrix;
}

/** One output's parameters, which stand in a column of the panel, to two levels. */
function roundColumn(
  pool: KernelPool,
  room: { readonly scales: number; readonly seconds: number },
  groups: number,
  c: number,
  n: number,
  twoLevel: TwoLevelValues,
): void {
  const all = [pool.floats(room.scales, groups * PANEL), pool.floats(room.seconds, groups * PANEL)] as const;
  const [scales, offsets] = all.map((panel) => Float32Array.from({ length: groups }, (_, g) => panel[g * PANEL + c]!));
  twoLevel.round(n, { scales: scales!, offsets: offsets! });
  for (let g = 0; g < groups; g++) {
    all[0][g * PANEL + c] = scales![g]!;
    all[1][g * PANEL + c] = offsets![g]!;
  }
}

/** [groups][16] to rows `n` to `n + count − 1` of [N, groups]. */
function takeColumns(panel: Float32Array, count: number, groups: number, out: Float32Array, n: number): void {
  for (let c = 0; c < count; c++) for (let g = 0; g < groups; g++) out[(n + c) * groups + g] = panel[g * PANEL + c]!;
}

function quantizedMatrix(
  N: number,
  K: number,
  { kind, bits, groupSize, zero, scaleType }: Grid,
  codes: Uint8Array,
  scales: Float32Array,
  seconds: Float32Array,
): QuantizedMatrix {
  return {
    kind: "quantized",
    N,
    K,
    bits,
    groupSize,
    codes,
    scale: groupValues(scales, scaleType),
    zero: kind === "zero-point" ? Uint8Array.from(seconds) : zero,
    ...(kind === "offset" && { offset: groupValues(seconds, scaleType) }),
  };
}

/** Exact: kernels give what is stored. */
function groupValues(values: Float32Array, type: FloatType): GroupValues {
  if (type === "f32") return { kind: "f32", values: values.slice() };
  return { kind: type, values: Uint16Array.from(values, type === "f16" ? f32ToF16 : f32ToBf16) };
}
