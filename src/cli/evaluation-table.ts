import type { Evaluation, ModelEvaluation } from "../evaluate/evaluation.ts";
import type { Mean } from "../evaluate/tally.ts";
import { formatBytes, formatCount, formatTable } from "./format.ts";
import { oneLine } from "./terminal-text.ts";

/** Below this a standard error of the perplexity is some percent, and models of a few bits more or less look alike. */
const FEW_PREDICTIONS = 10_000;

/** One line for each model, the reference first. */
export function evaluationTable({ reference, models }: Evaluation): string {
  const heading = ["", "size", "bits", "packed", "perplexity"];
  const compared = ["change", "KL divergence", "99 %", "top-1 same", "top-5 same"];
  const all = reference ? [reference, ...models] : models;
  const rows = all.map((model) => [...modelCells(model), ...(reference ? comparisonCells(model) : [])]);
  const table = [reference ? [...heading, ...compared] : heading, ...rows];
  return formatTable(
    table,
    table[0]!.map((_, column) => column).filter((column) => column > 0),
  );
}

function modelCells({ name, file, packed, perplexity }: ModelEvaluation): string[] {
  return [
    oneLine(name, 50),
    formatBytes(file.bytes),
    file.bitsPerWeight.toFixed(2),
    packed.bitsPerWeight.toFixed(2),
    withError(perplexity, (value) => value.toFixed(3)),
  ];
}

function comparisonCells({ comparison }: ModelEvaluation): string[] {
  if (!comparison) return ["reference"];
  const { divergence, lossIncrease, topOne, topFive } = comparison;
  const relative: Mean = {
    mean: Math.expm1(lossIncrease.mean),
    standardError: lossIncrease.standardError && Math.exp(lossIncrease.mean) * lossIncrease.standardError,
  };
  return [
    withError(relative, percent),
    withError(divergence, small(divergence.mean)),
    small(divergence.p99)(divergence.p99),
    withError(topOne, percent),
    withError(topFive, percent),
  ];
}

/** Errors of the residual stream, one line for each layer. */
export function layerTable({ models }: Evaluation): string {
  const compared = models.filter(({ comparison }) => comparison?.layerErrors);
  if (compared.length === 0)
    return "no errors by layer: the models have other layers than a reference, or there is none";
  const count = compared[0]!.comparison!.layerErrors!.length;
  const rows = Array.from({ length: count }, (_, l) => [
    l === 0 ? "embedding" : `layer ${l - 1}`,
    ...compared.map(({ comparison }) => percent(comparison!.layerErrors![l]!)),
  ]);
  const heading = ["error after", ...compared.map(({ name }) => oneLine(name, 30))];
  return formatTable(
    [heading, ...rows],
    compared.map((_, i) => i + 1),
  );
}

/** What a reader of the table needs to know. */
export function evaluationNotes(evaluation: Evaluation): string[] {
  const { tokens, window, stride, models, reference, cacheType, complete } = evaluation;
  const counts = new Set(models.map(({ predictions }) => predictions));
  const predicted = [...counts].map(formatCount).join(" or ") || "none";
  const [{ activations, executor } = {}] = models.slice(0, 1);
  const modes = reference && reference.activations !== activations ? `, the reference ${reference.activations}` : "";
  const runs = executor && `${executor.name} ${executor.kernel}, ${executor.threads} threads`;
  const notes = [
    `${formatCount(tokens)} tokens, ${predicted} predicted; windows of ${window}, each ${stride} further; ` +
      `activations ${activations}${modes}, cache ${cacheType}; ${runs}; ± is one standard error`,
  ];
  if (!complete) notes.push("interrupted: these are the figures of what had been measured by then");
  if (Math.max(...counts) < FEW_PREDICTIONS)
    notes.push(`${predicted} predictions are few: perplexity of a longer text (--text) is surer`);
  return notes;
}

function withError({ mean, standardError }: Mean, format: (value: number) => string): string {
  return standardError === undefined ? format(mean) : `${format(mean)} ± ${format(standardError)}`;
}

function percent(share: number): string {
  // What is rounded to 0 has no sign.
  return `${(100 * share).toFixed(2).replace(/^-(?=[0.]+$)/, "")} %`;
}

/** Three digits of what is near `size`, and its error to the same place. */
function small(size: number): (value: number) => string {
  if (size !== 0 && size < 1e-4) return (value) => value.toExponential(2);
  const decimals = size === 0 ? 2 : Math.max(0, 2 - Math.floor(Math.log10(size)));
  return (value) => value.toFixed(decimals);
}
