import type { ExecutorInfo } from "../executors/executor.ts";
import type { ActivationMode, CacheType } from "../plan/plan.ts";
import type { ModelSize } from "./model-size.ts";
import type { Mean } from "./tally.ts";

/** How far a model's distributions are from the reference's, over all predictions; natural logarithms. */
export interface Comparison {
  /** Kullback-Leibler divergence from the reference over the whole vocabulary. Nats for each token. */
  readonly divergence: Mean & { readonly median: number; readonly p99: number; readonly max: number };
  /** Log-probability of the text's tokens that was lost: the log of the perplexity over the reference's. Nats. */
  readonly lossIncrease: Mean;
  /** Share of predictions whose likeliest token is the reference's, 0 to 1. */
  readonly topOne: Mean;
  /** Mean share of the reference's five likeliest tokens that are among the model's five likeliest, 0 to 1. */
  readonly topFive: Mean;
  /**
   * For the embedding and each layer the error of its output (the residual stream): root mean square of the difference
   * over that of the reference. Absent where the models have other layers.
   */
  readonly layerErrors?: readonly number[];
}

export interface ModelEvaluation extends ModelSize {
  readonly name: string;
  readonly architecture: string;
  readonly activations: ActivationMode;
  readonly executor: ExecutorInfo;
  /** Tokens that were predicted and count. */
  readonly predictions: number;
  /** Negative log-probability of the text's tokens, nats. */
  readonly loss: Mean;
  /** exp of the mean loss. */
  readonly perplexity: Mean;
  /** Absent without a reference, and for the reference. */
  readonly comparison?: Comparison;
}

export interface Evaluation {
  /** Tokens of the text, without any beginning token. */
  readonly tokens: number;
  /** Tokens of it that are predicted in a complete measurement. */
  readonly predictions: number;
  /** Tokens a window has, and by how many each goes on from the one before. */
  readonly window: number;
  readonly stride: number;
  readonly cacheType: CacheType;
  /** False where `stop` ended the measurement before its end: models may have fewer predictions, or be left out. */
  readonly complete: boolean;
  readonly reference?: ModelEvaluation;
  readonly models: readonly ModelEvaluation[];
}

export interface EvaluateProgress {
  /** "load": bytes of packed weights of one model; "measure": rows computed, of all models together. */
  readonly phase: "load" | "measure";
  /** What is loaded. */
  readonly model?: string;
  readonly done: number;
  readonly total: number;
}
