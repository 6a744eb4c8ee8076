import { exp64 } from "../arithmetic/functions64.ts";
import type { PlanRunner } from "../executors/executor.ts";
import { type ExecutorWishes, selectExecutor } from "../executors/select.ts";
import type { GgufFile } from "../formats/gguf/open-gguf.ts";
import type { HuggingFaceFolder } from "../formats/safetensors/hugging-face-folder.ts";
import type { FloatWeights } from "../models/checkpoint-store.ts";
import { type OpenModel, openModel } from "../models/open-model.ts";
import type { CompileOptions } from "../plan/compile.ts";
import type { Plan } from "../plan/plan.ts";
import { openText } from "../text/open-text.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import type { ModelEvaluation } from "./evaluation.ts";
import type { Measurement } from "./measure.ts";
import { modelSize } from "./model-size.ts";

export interface NamedFile {
  readonly name: string;
  readonly file: GgufFile | HuggingFaceFolder;
}

/** A model that is to be measured, opened but not loaded. */
export interface Candidate {
  readonly name: string;
  readonly file: GgufFile | HuggingFaceFolder;
  readonly model: OpenModel;
  readonly tokenizer: Tokenizer;
  /** Logits of a step. */
  readonly size: number;
}

export async function openCandidate({ name, file }: NamedFile, floatWeights: FloatWeights): Promise<Candidate> {
  const model = await openModel(file, { floatWeights });
  const { tokenizer } = await openText(file);
  return { name, file, model, tokenizer, size: model.config.vocabularySize };
}

/** Rows of a step: more are no faster. */
const MAX_ROWS = 256;
/** Of the logits of a step. */
const MAX_LOGIT_BYTES = 64 << 20;

export function planOf({ model, size }: Candidate, window: number, options: CompileOptions): Plan {
  const maxRows = Math.min(MAX_ROWS, window);
  const maxLogitRows = Math.min(maxRows, Math.max(1, Math.floor(MAX_LOGIT_BYTES / (4 * size))));
  return model.compile({ maxRows, maxLogitRows, ...options });
}

export async function loadCandidate(
  { model }: Candidate,
  plan: Plan,
  wishes: ExecutorWishes,
  signal: AbortSignal,
  onProgress: (packedBytes: number, totalBytes: number) => void,
): Promise<PlanRunner> {
  const { executor, options } = await selectExecutor(wishes);
  return executor.load(plan, model.weights, { ...options, signal, onProgress });
}

export function evaluationOf(
  { name, file, model }: Candidate,
  { plan, executor }: PlanRunner,
  predictions: number,
  { loss, comparison }: Measurement,
): ModelEvaluation {
  const perplexity = exp64(loss.mean);
  return {
    name,
    architecture: model.architecture.name,
    ...modelSize(file, model, plan),
    activations: plan.activations,
    executor,
    predictions,
    loss,
    // To first order.
    perplexity: {
      mean: perplexity,
      standardError: loss.standardError === undefined ? undefined : perplexity * loss.standardError,
    },
    ...(comparison && { comparison }),
  };
}
