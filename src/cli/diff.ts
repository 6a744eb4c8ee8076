import type { NamedFile } from "../evaluate/candidate.ts";
import { diffModels, type ModelDifference, type TensorDifference } from "../evaluate/diff/diff-models.ts";
import { openPath } from "../formats/node-open-path.ts";
import { openModel } from "../models/open-model.ts";
import { EXIT } from "./exit-codes.ts";
import { formatCount, formatTable, plural } from "./format.ts";
import { pullWithProgress } from "./load.ts";
import { ProgressLine } from "./progress-line.ts";
import { reportError } from "./report-error.ts";
import { oneLine } from "./terminal-text.ts";

export interface DiffCommandOptions {
  readonly all?: boolean;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
}

/** Of tensors, in a message. */
const SHOWN_NAMES = 3;

/** `halfbyte diff`; its exit codes are those of diff. */
export async function diffCommand(
  a: string,
  b: string,
  options: DiffCommandOptions,
  interrupt: AbortSignal,
): Promise<void> {
  try {
    const difference = await compare(a, b, options, interrupt);
    process.stdout.write(
      `${options.json ? JSON.stringify(difference, undefined, 2) : readable(difference, options)}\n`,
    );
    process.exitCode = difference.equal ? EXIT.ok : EXIT.failure;
  } catch (error) {
    if (interrupt.aborted) throw error;
    reportError(error, options.verbose === true);
    process.exitCode = EXIT.usage;
  }
}

async function compare(
  a: string,
  b: string,
  options: DiffCommandOptions,
  signal: AbortSignal,
): Promise<ModelDifference> {
  const opened: NamedFile["file"][] = [];
  const progress = options.quiet ? undefined : new ProgressLine(process.stderr, undefined, formatValues);
  try {
    for (const reference of [a, b]) {
      const { path } = await pullWithProgress(reference, options, signal);
      opened.push(await openPath(path));
    }
    const [modelA, modelB] = [await openModel(opened[0]!), await openModel(opened[1]!)];
    return await diffModels(modelA, modelB, {
      signal,
      ...(progress && { onProgress: (done, total) => progress.update("comparing", done, total) }),
    });
  } finally {
    progress?.clear();
    await Promise.all(opened.map((file) => file.close()));
  }
}

function formatValues(count: number): string {
  return count < 1e6 ? `${formatCount(Math.round(count))} values` : `${formatCount(Math.round(count / 1e6))} M values`;
}

function readable({ tensors }: ModelDifference, { all }: DiffCommandOptions): string {
  const shown = all ? tensors : tensors.filter(({ equal }) => !equal);
  const equal = tensors.filter((tensor) => tensor.equal).length;
  const rows = shown.map(cells);
  const heading = ["tensor", "shape", "A", "bits", "B", "bits", "differ", "RMS", "max", "cosine"];
  const lines = shown.length > 0 ? [formatTable([heading, ...rows], [1, 3, 5, 6, 7, 8, 9])] : [];
  const different = tensors.length - equal;
  const nonFinite = (["a", "b"] as const).flatMap((side) => {
    const has = tensors.filter(({ difference }) => difference && difference.nonFinite[side] > 0);
    const count = has.reduce((sum, { difference }) => sum + difference!.nonFinite[side], 0);
    const names = has.slice(0, SHOWN_NAMES).map((tensor) => oneLine(tensor[side]!.name, 60));
    const more = has.length > names.length ? ` and ${has.length - names.length} more` : "";
    return count > 0
      ? [`${side.toUpperCase()} has ${plural(count, "value")} that are not finite: ${names.join(", ")}${more}`]
      : [];
  });
  const verdict =
    different === 0
      ? `all ${plural(equal, "tensor")} are equal`
      : `${plural(different, "tensor")} of ${tensors.length} differ`;
  return [...lines, ...nonFinite, verdict].join("\n");
}

function cells({ a, b, difference }: TensorDifference): string[] {
  const shapes = [...new Set([a, b].flatMap((side) => (side ? [side.shape.join(" × ")] : [])))];
  const sides = [a, b].flatMap((side) => (side ? [side.encoding, side.bits.toFixed(2)] : ["absent", ""]));
  const what = [oneLine((a ?? b)!.name, 60), shapes.join(", "), ...sides];
  if (!difference) return what;
  const { differing, values, rms, max, cosine } = difference;
  return [
    ...what,
    shareOf(differing, values),
    relative(rms),
    relative(max),
    cosine === undefined ? "" : cosine.toFixed(7),
  ];
}

/** What is not 0 is not shown as 0, and what is not all not as 100. */
function shareOf(part: number, all: number): string {
  const percent = (100 * part) / all;
  if (part > 0 && percent < 0.05) return "< 0.1 %";
  if (part < all && percent >= 99.95) return "> 99.9 %";
  return `${percent.toFixed(1)} %`;
}

function relative(value: number): string {
  return value === 0 ? "0" : value.toExponential(2);
}
