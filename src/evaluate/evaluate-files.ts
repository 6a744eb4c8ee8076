import { HalfbyteError } from "../errors.ts";
import type { ExecutorWishes } from "../executors/select.ts";
import type { FloatWeights } from "../models/checkpoint-store.ts";
import { residualName } from "../models/decoder.ts";
import type { ActivationMode, CacheType } from "../plan/plan.ts";
import { type Candidate, type NamedFile, openCandidate, planOf } from "./candidate.ts";
import { DEFAULT_TEXT } from "./default-text.ts";
import type { EvaluateProgress, Evaluation } from "./evaluation.ts";
import type { KeptLayers } from "./measure.ts";
import { measureInGroups, type Task } from "./measure-groups.ts";
import { checkSameVocabulary } from "./same-vocabulary.ts";
import { windowsOf } from "./windows.ts";

export interface EvaluateOptions extends ExecutorWishes {
  /** Default: a text of about 2,500 tokens that was written for this. */
  readonly text?: string;
  /** Tokens of the text to use at most. */
  readonly tokens?: number;
  /** Tokens a model sees at once. Default 512, or what its context has room for. */
  readonly window?: number;
  /** Tokens by which a window goes on from the one before; the rest of it is context. Default half a window. */
  readonly stride?: number;
  /** Of the models that are measured; the reference always has "a16". Default "a16". */
  readonly activations?: ActivationMode;
  /** Default "f16". */
  readonly cacheType?: CacheType;
  /** Float matrices of a safetensors checkpoint; default "keep". */
  readonly floatWeights?: FloatWeights;
  /** Aborts with its reason. */
  readonly signal?: AbortSignal;
  /** Ends early with what has been measured by then; aborts with its reason where that is nothing. */
  readonly stop?: AbortSignal;
  readonly onProgress?: (progress: EvaluateProgress) => void;
}

const DEFAULT_WINDOW = 512;

/**
 * Measures models, each against a reference where there is one, on the same tokens in the same steps. Files stay open
 * and the caller's.
 *
 * Throws ERR_ARGUMENT for models of different vocabularies, a text too short, or a window that a model has no context
 * for; ERR_NON_FINITE where logits are not finite; what opening and loading throw.
 */
export async function evaluateFiles(
  files: readonly NamedFile[],
  referenceFile: NamedFile | undefined,
  options: EvaluateOptions = {},
): Promise<Evaluation> {
  const { text = DEFAULT_TEXT, cacheType = "f16", activations = "a16", floatWeights = "keep" } = options;
  const models: Candidate[] = [];
  for (const file of files) models.push(await openCandidate(file, floatWeights));
  const reference = referenceFile && (await openCandidate(referenceFile, floatWeights));
  const all = reference ? [reference, ...models] : models;
  const base = all[0];
  if (!base) throw new HalfbyteError("ERR_ARGUMENT", "no model to evaluate", { place: "models" });
  for (const other of all.slice(1)) checkSameVocabulary(base, other, text);

  const { tokenizer } = base;
  const bosId = tokenizer.addBosByDefault ? tokenizer.bosId : undefined;
  const ids = tokenizer.encode(text, { addBos: false }).slice(0, options.tokens);
  const window = chooseWindow(options.window, all);
  const stride = options.stride ?? Math.ceil(window / 2);
  const windows = windowsOf(ids, { window, stride, bosId });
  const kept = reference ? keptLayers(all) : NOTHING_KEPT;
  const task = (candidate: Candidate, mode: ActivationMode): Task => {
    const plan = planOf(candidate, window, { activations: mode, cacheType, keep: kept.names });
    return { candidate, plan };
  };
  const measured = await measureInGroups(
    models.map((model) => task(model, activations)),
    reference && task(reference, "a16"),
    windows,
    kept,
    options,
  );
  const predictions = windows.reduce((sum, { next }) => sum + next.length, 0);
  return { tokens: ids.length, predictions, window, stride, cacheType, ...measured };
}

function chooseWindow(asked: number | undefined, models: readonly Candidate[]): number {
  const room = Math.min(...models.map(({ model }) => model.config.contextLength));
  if (asked === undefined) return Math.min(DEFAULT_WINDOW, room);
  if (Number.isSafeInteger(asked) && asked <= room) return asked;
  throw new HalfbyteError("ERR_ARGUMENT", "unusable window", {
    place: "window",
    expected: `an integer up to ${room}, the models' context`,
    got: String(asked),
  });
}

const NOTHING_KEPT: KeptLayers = { names: [], width: 0 };

/** The residual stream after the embedding and each layer, where all models have the same. */
function keptLayers(models: readonly Candidate[]): KeptLayers {
  const [{ layers, hiddenSize }, ...others] = models.map(({ model }) => model.config) as [OpenConfig, ...OpenConfig[]];
  if (others.some((other) => other.layers.length !== layers.length || other.hiddenSize !== hiddenSize))
    return NOTHING_KEPT;
  return { names: Array.from({ length: layers.length + 1 }, (_, l) => residualName(l)), width: hiddenSize };
}

type OpenConfig = Candidate["model"]["config"];
