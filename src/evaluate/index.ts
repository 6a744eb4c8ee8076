import { openModel } from "../models/open-model.ts";
import type { NamedFile } from "./candidate.ts";
import { type DiffOptions, diffModels, type ModelDifference } from "./diff/diff-models.ts";
import { type EvaluateOptions as EvaluateFilesOptions, evaluateFiles } from "./evaluate-files.ts";
import type { Evaluation } from "./evaluation.ts";
import { openReference } from "./open-reference.ts";

export type { ValueDifference } from "./diff/compare-values.ts";
export type { DiffOptions, ModelDifference, TensorDifference, TensorSide } from "./diff/diff-models.ts";
export type { Comparison, EvaluateProgress, Evaluation, ModelEvaluation } from "./evaluation.ts";
export type { ModelSize, WeightSize } from "./model-size.ts";
export type { Mean } from "./tally.ts";

export interface EvaluateOptions extends EvaluateFilesOptions {
  /** What the models are compared with, by reference: the one they were made from, as a rule. */
  readonly against?: string;
}

/**
 * Measures how well models predict a text and, with `against`, how far they are from a reference: perplexity,
 * divergence, agreement, error by layer, and size. Models go by reference as in `loadModel`; all see the same tokens.
 *
 * Throws ERR_ARGUMENT for models of different vocabularies, a text too short or a window past a model's context,
 * ERR_NON_FINITE where logits are not finite, and what `loadModel` does; the reason of `signal` when aborted.
 */
export async function evaluate(
  models: string | readonly string[],
  { against, ...options }: EvaluateOptions = {},
): Promise<Evaluation> {
  const opened: NamedFile[] = [];
  try {
    const open = async (reference: string): Promise<NamedFile> => {
      const file = await openReference(reference, options.signal ?? options.stop);
      opened.push(file);
      return file;
    };
    const files: NamedFile[] = [];
    for (const model of [models].flat()) files.push(await open(model));
    const reference = against === undefined ? undefined : await open(against);
    return await evaluateFiles(files, reference, { environment: process.env, ...options });
  } finally {
    await Promise.all(opened.map(({ file }) => file.close()));
  }
}

/**
 * Compares the weights of two models tensor by tensor, whatever their formats; memory stays at some rows of each. Models
 * go by reference as in `loadModel`. Throws ERR_ARGUMENT for two architectures, and what opening throws.
 */
export async function diff(a: string, b: string, options: DiffOptions = {}): Promise<ModelDifference> {
  const opened: NamedFile[] = [];
  try {
    for (const reference of [a, b]) opened.push(await openReference(reference, options.signal));
    const [modelA, modelB] = [await openModel(opened[0]!.file), await openModel(opened[1]!.file)];
    return await diffModels(modelA, modelB, options);
  } finally {
    await Promise.all(opened.map(({ file }) => file.close()));
  }
}
