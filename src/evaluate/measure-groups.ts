import type { ExecutorWishes } from "../executors/select.ts";
import type { Plan } from "../plan/plan.ts";
import { type Candidate, evaluationOf, loadCandidate } from "./candidate.ts";
import type { EvaluateProgress, Evaluation, ModelEvaluation } from "./evaluation.ts";
import { type KeptLayers, measure, type Subject } from "./measure.ts";
import type { Window } from "./windows.ts";

/** A model with the plan that it is measured with. */
export interface Task {
  readonly candidate: Candidate;
  readonly plan: Plan;
}

export interface GroupOptions extends ExecutorWishes {
  readonly signal?: AbortSignal | undefined;
  readonly stop?: AbortSignal | undefined;
  readonly onProgress?: ((progress: EvaluateProgress) => void) | undefined;
}

type Measured = Pick<Evaluation, "complete" | "reference" | "models">;

/** Packed weights that stand in memory together, where one model and the reference do not need more. */
const MAX_WEIGHT_BYTES = 2 ** 32;

/** Measures as many models at once as there is memory for; the reference runs again beside each group. */
export async function measureInGroups(
  tasks: readonly Task[],
  reference: Task | undefined,
  windows: readonly Window[],
  kept: KeptLayers,
  options: GroupOptions,
): Promise<Measured> {
  const groups = groupsBySize(tasks, MAX_WEIGHT_BYTES - (reference ? weightBytes(reference) : 0));
  const windowRows = windows.reduce((sum, { ids }) => sum + ids.length, 0);
  const total = windowRows * (tasks.length + (reference ? groups.length : 0));
  let done = 0;
  let result: Measured = { complete: true, models: [] };
  for (const group of groups) {
    const onProgress = (rows: number): void => options.onProgress?.({ phase: "measure", done: done + rows, total });
    try {
      const measured = await measureGroup(group, reference, windows, kept, { ...options, onRows: onProgress });
      result = { ...measured, models: [...result.models, ...measured.models] };
    } catch (error) {
      if (!isStop(error, options) || result.models.length === 0) throw error;
      result = { ...result, complete: false };
    }
    if (!result.complete) break;
    done += windowRows * (group.length + Number(reference !== undefined));
  }
  return result;
}

function isStop(error: unknown, { signal, stop }: GroupOptions): boolean {
  return stop?.aborted === true && error === stop.reason && !signal?.aborted;
}

function weightBytes({ plan }: Task): number {
  return plan.matrices.reduce((sum, { layout }) => sum + layout.byteLength, 0);
}

/** In the order given; a group has one model at least, and not more than fit. */
function groupsBySize(tasks: readonly Task[], room: number): Task[][] {
  const groups: Task[][] = [];
  let left = 0;
  for (const task of tasks) {
    const bytes = weightBytes(task);
    if (groups.length === 0 || bytes > left) {
      groups.push([]);
      left = room;
    }
    groups.at(-1)!.push(task);
    left -= bytes;
  }
  return groups;
}

async function measureGroup(
  group: readonly Task[],
  reference: Task | undefined,
  windows: readonly Window[],
  kept: KeptLayers,
  options: GroupOptions & { readonly onRows: (rows: number) => void },
): Promise<Measured> {
  const { signal, stop, onProgress, onRows } = options;
  const all = reference ? [reference, ...group] : group;
  const subjects: Subject[] = [];
  try {
    const ends = AbortSignal.any([signal, stop].filter((each) => each !== undefined));
    for (const { candidate, plan } of all) {
      const { name } = candidate;
      const onLoad = (packed: number, total: number): void =>
        onProgress?.({ phase: "load", model: name, done: packed, total });
      subjects.push({ name, runner: await loadCandidate(candidate, plan, options, ends, onLoad) });
    }
    const models = reference ? subjects.slice(1) : subjects;
    const measured = await measure(reference && subjects[0], models, windows, kept, {
      signal,
      stop,
      onProgress: onRows,
    });
    const evaluations = all.map(
      ({ candidate }, i): ModelEvaluation =>
        evaluationOf(candidate, subjects[i]!.runner, measured.predictions, measured.of[i]!),
    );
    const first = reference && evaluations.shift();
    return { complete: measured.complete, ...(first && { reference: first }), models: evaluations };
  } finally {
    for (const { runner } of subjects) await runner.dispose();
  }
}
