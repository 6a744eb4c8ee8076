import type { PackedLayout } from "../weights/packed-layout.ts";
import type { GateKind, RopePairing, RowSpace } from "./graph.ts";
import type { RopeSpec } from "./rope-table.ts";

/** How activations are quantised before they meet quantised weights (arithmetic rule 3). */
export type ActivationMode = "a8" | "a16" | "a8-per-token";

/** Largest code of a mode: the Q of arithmetic rule 3. */
export const ACTIVATION_MAX: Readonly<Record<ActivationMode, number>> = { a8: 127, a16: 32767, "a8-per-token": 127 };

/** One f32 row per row of the step, in the arena. All offsets and strides are in bytes and multiples of 64. */
export interface RowBuffer {
  readonly kind: "f32";
  readonly name: string;
  readonly offset: number;
  readonly stride: number;
  readonly width: number;
}

/**
 * Quantised rows. A row is: codes (an executor's own form, 2 bytes an input are reserved) at 0, f32 scales
 * [ceil(K / group)] at scaleAt, int32 sums of codes [ceil(K / run)] at sumAt. Codes from K to paddedK are 0.
 */
export interface QuantizedBuffer {
  readonly kind: "quantized";
  readonly name: string;
  readonly offset: number;
  readonly stride: number;
  readonly K: number;
  readonly paddedK: number;
  /** Inputs under one scale; K in per-token mode. */
  readonly group: number;
  /** Inputs under one stored sum: every consumer's run is a multiple of it, or ends with the row. */
  readonly run: number;
  readonly scaleAt: number;
  readonly sumAt: number;
}

export interface LinearPart {
  /** Index into `Plan.matrices`. */
  readonly matrix: number;
  /** Index into `Plan.vectors`. */
  readonly bias: number | undefined;
  readonly out: RowBuffer;
  /** Added last: y = residual + linear. May be `out` itself. */
  readonly residual: RowBuffer | undefined;
  /** Inputs summed as integers before they are scaled: arithmetic rule 4. 0 for float weights. */
  readonly run: number;
}

interface Synced {
  /** Threads must all have finished what came before: something in it was written or read by other rows or columns. */
  readonly sync: boolean;
  readonly rows: RowSpace;
}

export type EmbedOp = Synced & { op: "embed"; matrix: number; out: RowBuffer; multiplier: number };
export type GatherOp = Synced & { op: "gather"; input: RowBuffer; out: RowBuffer };
export type NormOp = Synced & {
  op: "norm";
  input: RowBuffer;
  out: RowBuffer;
  /** Index into `Plan.vectors`. */
  weight: number;
  /** Equal parts of the row, each normed by itself with the same weights. */
  heads: number;
  eps: number;
  /** y = residual + norm. May be `out` itself. */
  residual: RowBuffer | undefined;
};
/** out[j] = input[order[j]]: how a matrix wants its inputs whose groups are not runs of them (act-order). */
export type ReorderOp = Synced & { op: "reorder"; input: RowBuffer; out: RowBuffer; order: Int32Array };
export type QuantizeOp = Synced & { op: "quantize"; input: RowBuffer; out: QuantizedBuffer };
export type LinearOp = Synced & { op: "linear"; input: QuantizedBuffer | RowBuffer; parts: readonly LinearPart[] };
export type RopeOp = Synced & {
  op: "rope";
  buffer: RowBuffer;
  heads: number;
  headSize: number;
  /** Leading dims of a head that turn. */
  rotary: number;
  table: number;
  pairing: RopePairing;
};
export type StoreOp = Synced & { op: "store"; layer: number; k: RowBuffer; v: RowBuffer };
export type AttentionOp = Synced & {
  op: "attention";
  layer: number;
  q: RowBuffer;
  out: RowBuffer;
  heads: number;
  kvHeads: number;
  headSize: number;
  scale: number;
  /** 0: no window. */
  window: number;
  /** 0: no cap. */
  softCap: number;
};
export type GateOp = Synced & { op: "gate"; gate: RowBuffer; up: RowBuffer; out: RowBuffer; kind: GateKind };
/** In place: x · multiplier, then softCap · tanh(x / softCap) unless that is 0. */
export type ScaleOp = Synced & { op: "scale"; buffer: RowBuffer; multiplier: number; softCap: number };
/** out = sigmoid(gate[h]) · input, for each of the heads h that are as many as the gate is wide. */
export type HeadGateOp = Synced & { op: "headGate"; gate: RowBuffer; input: RowBuffer; out: RowBuffer };
export type AddOp = Synced & { op: "add"; a: RowBuffer; b: RowBuffer; out: RowBuffer };

export type PlanOp =
  | EmbedOp
  | GatherOp
  | NormOp
  | ReorderOp
  | QuantizeOp
  | LinearOp
  | RopeOp
  | StoreOp
  | AttentionOp
  | GateOp
  | ScaleOp
  | HeadGateOp
  | AddOp;

/** How keys and values are kept. */
export type CacheType = "f16" | "f32";

/** Tokens in a block of the key-value cache. */
export const BLOCK_TOKENS = 16;

/**
 * A block of the cache holds 16 positions of one sequence in every layer. In a block: [layers][kvHeads]{K, V}, with
 * K [headSize][16 tokens] and V [16 tokens][headSize], so that 16 keys, and 16 dims of a value, stand side by side.
 */
export interface CacheLayout {
  readonly type: CacheType;
  readonly layers: number;
  readonly kvHeads: number;
  readonly headSize: number;
  /** Bytes of K (and of V) of one head in one block. */
  readonly headBytes: number;
  readonly blockBytes: number;
}

export interface PlanMatrix {
  readonly name: string;
  readonly layout: PackedLayout;
}

/** The name under which every plan keeps what its output matrix multiplies: the residual stream after the last norm. */
export const FINAL_HIDDEN = "hidden";

/** A value whose rows stay where they are until the next step. */
export interface KeptRows {
  readonly name: string;
  readonly rows: RowSpace;
  readonly buffer: RowBuffer;
}

/** A model's step, compiled: what every executor runs. See docs/design.md. */
export interface Plan {
  readonly activations: ActivationMode;
  readonly ops: readonly PlanOp[];
  readonly matrices: readonly PlanMatrix[];
  readonly vectors: readonly { readonly name: string; readonly length: number }[];
  readonly ropeTables: readonly RopeSpec[];
  readonly cache: CacheLayout;
  readonly arenaBytes: number;
  /** Tokens one step can take. */
  readonly maxRows: number;
  /** Rows of logits one step can give; without logits it can select as many rows as it has tokens. */
  readonly maxLogitRows: number;
  readonly logits: RowBuffer;
  readonly kept: readonly KeptRows[];
  readonly vocabularySize: number;
}
