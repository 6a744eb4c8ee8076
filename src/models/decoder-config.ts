import { HalfbyteError } from "../errors.ts";
import type { GateKind, RopePairing } from "../plan/graph.ts";
import type { RopeSpec } from "../plan/rope-table.ts";
import { MAX_HIDDEN } from "./limits.ts";

/** What may differ between the layers of one model. */
export interface LayerConfig {
  readonly rope: RopeSpec;
  /** False: positions do not turn q and k here. */
  readonly turns?: boolean;
  /** Sliding window; absent: all positions before. */
  readonly window?: number;
}

/** Everything that tells one decoder of the Llama family from another. */
export interface DecoderConfig {
  readonly vocabularySize: number;
  /** Positions the model was trained for. */
  readonly contextLength: number;
  readonly hiddenSize: number;
  /** Width inside the feed-forward part. */
  readonly innerSize: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headSize: number;
  readonly layers: readonly LayerConfig[];
  readonly pairing: RopePairing;
  /** Scores are multiplied by it. */
  readonly attentionScale: number;
  readonly normEps: number;
  readonly gate: GateKind;
  readonly embeddingMultiplier: number;
  /** RMS norm of each head of q and k before the rotary embedding, or of all of q and all of k (OLMo 2). */
  readonly headNorms: boolean | "whole";
  /** RMS norm of what goes into attention and feed-forward; absent: there is one. */
  readonly preNorms?: boolean;
  /** RMS norm of what attention and feed-forward give, before it is added. */
  readonly postNorms: boolean;
  /** Norm weights stand in the file as w where 1 + w is meant. */
  readonly normsPlusOne: boolean;
  readonly biases: { readonly qkv: boolean; readonly output: boolean; readonly mlp: boolean };
  /** Each head that attention gives is multiplied by the sigmoid of a number made from the same input (Spark). */
  readonly headGates?: boolean;
  /** Scores are held within ± this by tanh. */
  readonly attentionCap?: number;
  /** What attention and feed-forward give is multiplied by it before it is added; absent: 1. */
  readonly residualMultiplier?: number;
  /** Logits are multiplied by it; absent: 1. */
  readonly logitMultiplier?: number;
  /** Logits are held within ± this by tanh. */
  readonly logitCap?: number;
  /** The embedding is the output matrix too. */
  readonly tiedOutput: boolean;
}

/** Throws ERR_SHAPE where head counts or sizes do not fit each other; `place` names the file. */
export function checkHeads(heads: number, kvHeads: number, headSize: number, place: string): void {
  const fail = (problem: string, expected: string, got: string): never => {
    throw new HalfbyteError("ERR_SHAPE", problem, { place, expected, got });
  };
  if (heads % kvHeads !== 0) fail("heads do not share key-value heads evenly", `a multiple of ${kvHeads}`, `${heads}`);
  if (headSize % 2 !== 0) fail("unusable head size", "an even number", `${headSize}`);
  if (heads * headSize > MAX_HIDDEN) fail("too many heads", `at most ${MAX_HIDDEN} numbers`, `${heads} × ${headSize}`);
}
