import { HalfbyteError } from "../errors.ts";
import type { PlanRunner } from "../executors/executor.ts";
import { Distribution } from "./distribution.ts";
import type { Comparison } from "./evaluation.ts";
import { LayerError } from "./layer-errors.ts";
import { forEachPrediction, type SideBySide, type SideBySideOptions } from "./side-by-side.ts";
import { type Mean, meanOf, quantile } from "./tally.ts";
import type { Window } from "./windows.ts";

export interface Subject {
  /** For messages. */
  readonly name: string;
  readonly runner: PlanRunner;
}

/** Kept values of all plans, of one width, that are compared with the reference's. */
export interface KeptLayers {
  readonly names: readonly string[];
  readonly width: number;
}

export interface MeasureOptions extends SideBySideOptions {
  /** Ends the measurement early, with what there is by then. */
  readonly stop?: AbortSignal | undefined;
}

export interface Measurement {
  readonly loss: Mean;
  readonly comparison?: Comparison;
}

export interface Measurements {
  readonly predictions: number;
  readonly complete: boolean;
  /** In the order of the subjects. */
  readonly of: readonly Measurement[];
}

/**
 * Measures models over the same windows, and against a reference where there is one; its own measurement comes first.
 * Throws ERR_NON_FINITE where logits are not finite, and the reason of `stop` where that leaves nothing measured.
 */
export async function measure(
  reference: Subject | undefined,
  models: readonly Subject[],
  windows: readonly Window[],
  kept: KeptLayers = { names: [], width: 0 },
  { signal, stop, onProgress }: MeasureOptions = {},
): Promise<Measurements> {
  const total = windows.reduce((sum, { next }) => sum + next.length, 0);
  const truth = reference && new Reading(reference, total);
  const readings = models.map((model) => new Reading(model, total, truth, kept));
  const all = truth ? [truth, ...readings] : readings;
  let predictions = 0;
  const visit = ({ first, next, logits }: SideBySide): void => {
    for (let m = 0; m < next.length; m++)
      for (const [i, reading] of all.entries()) reading.take(first + m, next[m]!, logits[i]!, m);
    if (truth)
      for (const [l, name] of kept.names.entries()) {
        const outputs = truth.runner.read(name);
        for (const { runner, layers } of readings) layers[l]!.add(runner.read(name), outputs, next.length * kept.width);
      }
    predictions = first + next.length;
  };
  let complete = true;
  try {
    const runners = all.map(({ runner }) => runner);
    const ends = AbortSignal.any([signal, stop].filter((each) => each !== undefined));
    await forEachPrediction(runners, windows, visit, { signal: ends, onProgress });
  } catch (error) {
    if (signal?.aborted || error !== stop?.reason || predictions === 0) throw error;
    complete = false;
  }
  return { predictions, complete, of: all.map((reading) => reading.result(predictions)) };
}

/** What is noted of one model, prediction by prediction. */
class Reading {
  readonly runner: PlanRunner;
  readonly layers: readonly LayerError[];
  readonly #name: string;
  readonly #distribution: Distribution;
  readonly #truth: Distribution | undefined;
  readonly #losses: Float64Array;
  readonly #increases: Float64Array;
  readonly #divergences: Float64Array;
  readonly #topOne: Float64Array;
  readonly #topFive: Float64Array;
  readonly #truthLosses: Float64Array | undefined;

  constructor({ name, runner }: Subject, total: number, truth?: Reading, kept?: KeptLayers) {
    this.runner = runner;
    this.layers = (kept?.names ?? []).map(() => new LayerError());
    this.#name = name;
    this.#distribution = new Distribution(runner.plan.vocabularySize);
    this.#truth = truth ? truth.#distribution : undefined;
    this.#truthLosses = truth ? truth.#losses : undefined;
    const compared = truth ? total : 0;
    this.#losses = new Float64Array(total);
    this.#increases = new Float64Array(compared);
    this.#divergences = new Float64Array(compared);
    this.#topOne = new Float64Array(compared);
    this.#topFive = new Float64Array(compared);
  }

  /** Takes row m of a step's logits, which says how likely `next` was. */
  take(at: number, next: number, logits: Float32Array, m: number): void {
    const { vocabularySize } = this.runner.plan;
    const mine = this.#distribution;
    mine.take(logits.subarray(m * vocabularySize, (m + 1) * vocabularySize));
    if (!Number.isFinite(mine.logSum))
      throw new HalfbyteError("ERR_NON_FINITE", "a logit is not finite", { place: `${this.#name}, prediction ${at}` });
    this.#losses[at] = mine.negativeLogProbability(next);
    const truth = this.#truth;
    if (!truth) return;
    this.#increases[at] = this.#losses[at]! - this.#truthLosses![at]!;
    this.#divergences[at] = truth.divergence(mine);
    this.#topOne[at] = Number(truth.top[0] === mine.top[0]);
    this.#topFive[at] = truth.topShared(mine);
  }

  result(count: number): Measurement {
    const loss = meanOf(this.#losses.subarray(0, count));
    if (!this.#truth) return { loss };
    const divergences = this.#divergences.subarray(0, count).toSorted();
    const comparison: Comparison = {
      divergence: {
        ...meanOf(divergences),
        median: quantile(divergences, 0.5),
        p99: quantile(divergences, 0.99),
        max: quantile(divergences, 1),
      },
      lossIncrease: meanOf(this.#increases.subarray(0, count)),
      topOne: meanOf(this.#topOne.subarray(0, count)),
      topFive: meanOf(this.#topFive.subarray(0, count)),
      ...(this.layers.length > 0 && { layerErrors: this.layers.map(({ relative }) => relative) }),
    };
    return { loss, comparison };
  }
}
